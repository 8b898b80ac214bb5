// SPDX-License-Identifier: Apache-2.0
#include "staging.hpp"

#include "deferred.hpp"
#include "process.hpp"

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <vector>

namespace cudf_arrow_bridge::detail {
namespace {

constexpr std::size_t smallest_block = std::size_t{1} << 16;
constexpr std::size_t largest_block  = std::size_t{1} << 26;  ///< pinned memory is taken from all
constexpr std::size_t most_idle      = std::size_t{1} << 27;  ///< bytes kept for later uploads
constexpr std::size_t most_blocks    = 64;                    ///< kept likewise

/// Pinned memory between uploads.
class pinned_pool {
 public:
  pinned_pool() { idle_.reserve(most_blocks); }

  static pinned_pool& instance()
  {
    static constinit per_process<pinned_pool> pool;
    return pool.get();
  }

  /// @return Null if there is no such memory
  std::byte* take(std::size_t size) noexcept
  {
    {
      auto const lock  = std::lock_guard{mutex_};
      auto const found = std::find_if(
        idle_.begin(), idle_.end(), [size](auto const& block) { return block.size == size; });
      if (found != idle_.end()) {
        auto* memory = found->memory;
        idle_.erase(found);
        idle_bytes_ -= size;
        return memory;
      }
    }
    void* memory = nullptr;
    if (cudaHostAlloc(&memory, size, cudaHostAllocPortable) != cudaSuccess) {
      (void)cudaGetLastError();
      return nullptr;
    }
    return static_cast<std::byte*>(memory);
  }

  void give_back(std::byte* memory, std::size_t size) noexcept
  {
    if (!keep(memory, size)) { (void)cudaFreeHost(memory); }
  }

 private:
  struct idle_block {
    std::byte* memory;
    std::size_t size;
  };

  bool keep(std::byte* memory, std::size_t size) noexcept
  {
    auto const lock = std::lock_guard{mutex_};
    // Never more than was reserved: this may not ask for memory.
    if (idle_.size() == idle_.capacity() || idle_bytes_ + size > most_idle) { return false; }
    idle_.push_back({memory, size});
    idle_bytes_ += size;
    return true;
  }

  std::mutex mutex_;
  std::vector<idle_block> idle_;
  std::size_t idle_bytes_{0};
};

}  // namespace

pinned_memory::pinned_memory(std::size_t size)
  : size_{std::bit_ceil(std::max(size, smallest_block))},
    memory_{pinned_pool::instance().take(size_)}
{
}

pinned_memory::~pinned_memory()
{
  if (memory_ != nullptr) { pinned_pool::instance().give_back(memory_, size_); }
}

/// Pinned memory of one upload, kept until the copies out of it are done.
class staging_block : private deferred {
 public:
  explicit staging_block(std::size_t size) : deferred{true}, pinned_{size} {}

  [[nodiscard]] std::byte* memory() const noexcept { return pinned_.data(); }

  void finish_after(cuda::stream_ref stream) noexcept
  {
    pass(stream);
    finish();
  }

 private:
  ~staging_block() override = default;

  pinned_memory pinned_;
};

host_upload::host_upload(std::size_t capacity, cuda::stream_ref stream) : stream_{stream}
{
  if (capacity > 0 && capacity <= largest_block) { block_ = new staging_block{capacity}; }
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
    used_ += (size + alignment - 1) / alignment * alignment;
    source = staged;
  } else {
    reads_source_ = true;
  }
  RMM_CUDA_TRY(cudaMemcpyAsync(target, source, size, cudaMemcpyDefault, stream_.get()));
}

}  // namespace cudf_arrow_bridge::detail
