// SPDX-License-Identifier: Apache-2.0
#include "cuda/transfer/staging.hpp"

#include "cuda/ordering/process.hpp"
#include "cuda/release/deferred_release.hpp"

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <mutex>
#include <span>
#include <vector>

namespace cudf_arrow_bridge::detail {
namespace {

constexpr std::size_t block_size  = std::size_t{1} << 16;  ///< granularity of allocations
constexpr std::size_t pinned_size = std::size_t{1}
                                    << 26;  ///< the largest size of libcudf's own pool

constexpr std::size_t whole_blocks(std::size_t size)
{ return (size + block_size - 1) / block_size * block_size; }

/**
 * @brief The pinned memory of this process, used by transfers in whole blocks.
 *
 * Pinning may synchronize with the device, so all memory is pinned at the first use. libcudf's
 * pinned resource is not usable: work on another stream may still read the memory that it returns,
 * so the CPU would have to wait before writing to it.
 */
class pinned_pool {
 public:
  static pinned_pool& instance()
  {
    static constinit per_process<pinned_pool> pool;
    return pool.get();
  }

  /// @return Memory of `most` bytes, or the largest piece available; empty if that is less than
  /// `least`. Both are multiples of the block size.
  std::span<std::byte> take(std::size_t least, std::size_t most)
  {
    auto const lock = std::lock_guard{mutex_};
    if (!is_pinned_) { pin(); }
    auto range = std::find_if(
      free_.begin(), free_.end(), [most](auto const& free) { return free.size >= most; });
    if (range == free_.end()) {
      range = std::max_element(free_.begin(), free_.end(), [](auto const& one, auto const& other) {
        return one.size < other.size;
      });
    }
    if (range == free_.end() || range->size < least) { return {}; }
    auto const taken = std::span{range->begin, std::min(range->size, most)};
    range->begin += taken.size();
    range->size -= taken.size();
    if (range->size == 0) { free_.erase(range); }
    return taken;
  }

  void give_back(std::span<std::byte> piece) noexcept
  {
    auto* const memory = piece.data();
    auto size          = piece.size();
    auto const lock    = std::lock_guard{mutex_};
    auto next =
      std::lower_bound(free_.begin(), free_.end(), memory, [](auto const& free, auto* at) {
        return free.begin < at;
      });
    if (next != free_.end() && memory + size == next->begin) {
      size += next->size;
      next = free_.erase(next);
    }
    if (next != free_.begin() && std::prev(next)->end() == memory) {
      std::prev(next)->size += size;
    } else {
      free_.insert(next, {memory, size});
    }
  }

 private:
  struct free_range {
    std::byte* begin;
    std::size_t size;

    [[nodiscard]] std::byte* end() const noexcept { return begin + size; }
  };

  /// If CUDA cannot pin memory, the pool stays empty and the next use tries again.
  void pin()
  {
    // `give_back` must not allocate: there are never more free ranges than blocks.
    free_.reserve(pinned_size / block_size);
    void* memory = nullptr;
    if (cudaHostAlloc(&memory, pinned_size, cudaHostAllocPortable) != cudaSuccess) {
      (void)cudaGetLastError();
      return;
    }
    free_.push_back({static_cast<std::byte*>(memory), pinned_size});
    is_pinned_ = true;
  }

  std::mutex mutex_;
  std::vector<free_range> free_;  ///< by address; adjacent ranges are merged
  bool is_pinned_{false};
};

}  // namespace

pinned_memory::pinned_memory(std::size_t least, std::size_t most)
  : memory_{pinned_pool::instance().take(whole_blocks(least), whole_blocks(most))}
{
}

pinned_memory::~pinned_memory()
{
  if (!memory_.empty()) { pinned_pool::instance().give_back(memory_); }
}

/// Pinned memory of one upload, kept until the copies from it are done.
class staging_block : private deferred_release {
 public:
  explicit staging_block(std::size_t size) : deferred_release{true}, pinned_{size} {}

  [[nodiscard]] std::byte* memory() const noexcept { return pinned_.data(); }

  void finish_after(cuda::stream_ref stream) noexcept
  {
    release_after(stream);
    release_when_ready();
  }

 private:
  ~staging_block() override = default;

  pinned_memory pinned_;
};

host_upload::host_upload(std::size_t capacity, cuda::stream_ref stream) : stream_{stream}
{
  if (capacity > 0 && capacity <= pinned_size) { block_ = new staging_block{capacity}; }
}

host_upload::~host_upload()
{
  // CUDA may read pageable memory late, and the caller may free the source after this.
  if (reads_source_) { (void)cudaStreamSynchronize(stream_.get()); }
  if (block_ != nullptr) { block_->finish_after(stream_); }
}

void host_upload::copy(void* target, void const* source, std::size_t size)
{
  if (block_ != nullptr && block_->memory() != nullptr) {
    auto* staged = block_->memory() + used_;
    std::memcpy(staged, source, size);
    used_ += staged_size(size);
    source = staged;
  } else {
    reads_source_ = true;
  }
  RMM_CUDA_TRY(cudaMemcpyAsync(target, source, size, cudaMemcpyDefault, stream_.get()));
}

}  // namespace cudf_arrow_bridge::detail
