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
#include <vector>

namespace cudf_arrow_bridge::detail {
namespace {

constexpr std::size_t block_size  = std::size_t{1} << 16;  ///< uploads take whole ones
constexpr std::size_t pinned_size = std::size_t{1} << 26;  ///< as libcudf's own pool has at most

/**
 * @brief The pinned memory of this process, in blocks that uploads and integers read back borrow.
 *
 * Pinning may have the host wait for the device, so it is done once, for the first of them.
 * libcudf's pinned resource is no alternative: what it gives out may still be read on another
 * stream, which the CPU would have to wait for before it writes there.
 */
class pinned_pool {
 public:
  static pinned_pool& instance()
  {
    static constinit per_process<pinned_pool> pool;
    return pool.get();
  }

  /// @return Null if there is no such memory
  std::byte* take(std::size_t size)
  {
    auto const lock = std::lock_guard{mutex_};
    if (!is_pinned_) { pin(); }
    auto const found = std::find_if(
      free_.begin(), free_.end(), [size](auto const& one) { return one.size >= size; });
    if (found == free_.end()) { return nullptr; }
    auto* const memory = found->begin;
    found->begin += size;
    found->size -= size;
    if (found->size == 0) { free_.erase(found); }
    return memory;
  }

  void give_back(std::byte* memory, std::size_t size) noexcept
  {
    auto const lock = std::lock_guard{mutex_};
    auto next       = std::lower_bound(
      free_.begin(), free_.end(), memory, [](auto const& one, auto* at) { return one.begin < at; });
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
  struct piece {
    std::byte* begin;
    std::size_t size;

    [[nodiscard]] std::byte* end() const noexcept { return begin + size; }
  };

  /// Where there is nothing to be had nothing is free, and the next one tries again.
  void pin()
  {
    // Giving back may not ask for memory: no more pieces than blocks.
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
  std::vector<piece> free_;  ///< by address, none next to another
  bool is_pinned_{false};
};

}  // namespace

pinned_memory::pinned_memory(std::size_t size)
  : size_{(size + block_size - 1) / block_size * block_size},
    memory_{pinned_pool::instance().take(size_)}
{
}

pinned_memory::~pinned_memory()
{
  if (memory_ != nullptr) { pinned_pool::instance().give_back(memory_, size_); }
}

/// Pinned memory of one upload, kept until the copies out of it are done.
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
  // CUDA may read pageable memory as late as it likes, and nobody keeps the source for it.
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
