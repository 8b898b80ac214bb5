// SPDX-License-Identifier: Apache-2.0
#include "cuda/transfer/staging.hpp"

#include "cuda/ordering/captures.hpp"
#include "cuda/ordering/events.hpp"
#include "cuda/ordering/process.hpp"
#include "cuda/release/deferred_release.hpp"

#include <rmm/aligned.hpp>
#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {
namespace {

constexpr std::size_t block_size     = std::size_t{1} << 16;  ///< granularity of allocations
constexpr std::size_t pinned_size    = std::size_t{1} << 26;  ///< for uploads and message bodies
constexpr std::size_t read_back_size = std::size_t{1} << 20;  ///< for values that are read back

/**
 * @brief Pinned memory of this process, used by transfers in whole blocks.
 *
 * Pinning may synchronize with the device, so all memory of a pool is pinned at its first use.
 * libcudf's pinned resource is not usable for uploads: work on another stream may still read the
 * memory that it returns, so the CPU would have to wait before writing to it. For values that are
 * read back it is too large: its first use pins up to 64 MiB.
 */
class pinned_pool {
 public:
  explicit pinned_pool(std::size_t size) : size_{size} {}

  static pinned_pool& of(transfer_kind kind)
  {
    struct pools {
      pinned_pool large{pinned_size};
      pinned_pool small{read_back_size};
    };
    static constinit per_process<pools> all;
    return kind == transfer_kind::read_back ? all.get().small : all.get().large;
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
    free_.reserve(size_ / block_size);
    void* memory       = nullptr;
    auto const relaxed = relaxed_captures{};
    if (cudaHostAlloc(&memory, size_, cudaHostAllocPortable) != cudaSuccess) {
      (void)cudaGetLastError();
      return;
    }
    free_.push_back({static_cast<std::byte*>(memory), size_});
    is_pinned_ = true;
  }

  std::size_t size_;
  std::mutex mutex_;
  std::vector<free_range> free_;  ///< by address; adjacent ranges are merged
  bool is_pinned_{false};
};

}  // namespace

pinned_memory::pinned_memory(std::size_t least, std::size_t most, transfer_kind kind)
  : kind_{kind},
    memory_{
      pinned_pool::of(kind).take(rmm::align_up(least, block_size), rmm::align_up(most, block_size))}
{
}

pinned_memory::~pinned_memory()
{
  if (!memory_.empty()) { pinned_pool::of(kind_).give_back(memory_); }
}

/// The memory of a transfer, which destroys itself when the copies are done.
class transfer_block : private deferred_release {
 public:
  transfer_block(std::size_t least,
                 std::size_t most,
                 transfer_kind kind,
                 std::shared_ptr<void const> owner)
    : deferred_release{true}, owner_{std::move(owner)}, pinned_{least, most, kind}
  {
    if (pinned_.data() != nullptr) {
      bytes_ = {pinned_.data(), pinned_.size()};
    } else {
      pageable_ = std::make_unique_for_overwrite<std::byte[]>(most);
      bytes_    = {pageable_.get(), most};
    }
  }

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

  /// @param is_copying Whether copies may be in flight on the stream
  void finish(bool is_copying, cuda::stream_ref stream) noexcept
  {
    if (is_copying) { release_after(stream); }
    release_when_ready();
  }

 private:
  ~transfer_block() override = default;

  std::shared_ptr<void const> owner_;
  pinned_memory pinned_;
  std::unique_ptr<std::byte[]> pageable_;
  std::span<std::byte> bytes_;
};

transfer_memory::transfer_memory(std::size_t least,
                                 std::size_t most,
                                 transfer_kind kind,
                                 cuda::stream_ref stream,
                                 std::shared_ptr<void const> owner)
  : stream_{stream}, block_{new transfer_block{least, most, kind, std::move(owner)}}
{
}

transfer_memory::~transfer_memory() { block_->finish(is_copying_, stream_); }

std::span<std::byte> transfer_memory::bytes() const noexcept { return block_->bytes(); }

void transfer_memory::copy(void* target, void const* source, std::size_t size)
{
  is_copying_ = true;
  RMM_CUDA_TRY(cudaMemcpyAsync(target, source, size, cudaMemcpyDefault, stream_.get()));
}

host_upload::host_upload(std::size_t size, cuda::stream_ref stream)
  : stream_{stream},
    capacity_{std::min(size, pinned_size)},
    staged_{capacity_, capacity_, transfer_kind::body, stream}
{
}

void host_upload::copy(void* target, void const* source, std::size_t count, std::size_t size)
{
  if (target != target_ + (used_ - begin_)) {
    finish();
    target_ = static_cast<std::byte*>(target);
  }
  for (auto const* next = static_cast<std::byte const*>(source); size > 0;) {
    if (used_ == capacity_) {
      finish();
      RMM_CUDA_TRY(synchronize(stream_));
      used_ = begin_ = 0;
    }
    auto* const staged = staged_.bytes().data() + used_;
    auto const piece   = std::min(size, capacity_ - used_);
    auto const copied  = std::min(count, piece);
    std::memcpy(staged, next, copied);
    std::memset(staged + copied, 0, piece - copied);
    next += copied;
    count -= copied;
    size -= piece;
    used_ += piece;
  }
}

void host_upload::finish()
{
  if (used_ == begin_) { return; }
  staged_.copy(target_, staged_.bytes().data() + begin_, used_ - begin_);
  target_ += used_ - begin_;
  begin_ = used_;
}

}  // namespace cudf_arrow_bridge::detail
