// SPDX-License-Identifier: Apache-2.0
#include "cuda/transfer/read_back.hpp"

#include "cuda/release/deferred_release.hpp"
#include "cuda/transfer/staging.hpp"

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

namespace cudf_arrow_bridge::detail::device {

/// The target of the copies. Not on the stack: if waiting fails, a copy may still write to it
/// later.
class read_back_block : private deferred_release {
 public:
  explicit read_back_block(std::size_t count)
    : deferred_release{true},
      pinned_{count * sizeof(std::int64_t)},
      pageable_(pinned_.data() == nullptr ? count : 0)
  {
  }

  [[nodiscard]] std::int64_t* values() noexcept
  { return pageable_.empty() ? reinterpret_cast<std::int64_t*>(pinned_.data()) : pageable_.data(); }

  /// Destroys the block when the work that is enqueued on `stream` is done.
  void finish_after(cuda::stream_ref stream) noexcept
  {
    release_after(stream);
    release_when_ready();
  }

  /// Destroys the block immediately.
  void finish_now() noexcept { release_when_ready(); }

 private:
  ~read_back_block() override = default;

  pinned_memory pinned_;
  std::vector<std::int64_t> pageable_;
};

namespace {

/// Sign-extends an integer that was copied to the low bytes of `value` (hosts are little-endian).
std::int64_t widen(std::int64_t value, std::int64_t width)
{
  switch (width) {
    case 2: return static_cast<std::int16_t>(value);
    case 4: return static_cast<std::int32_t>(value);
    default: return value;
  }
}

}  // namespace

read_batch::~read_batch()
{
  if (block_ == nullptr) { return; }
  if (is_done_) {
    block_->finish_now();
  } else {
    block_->finish_after(stream_);
  }
}

std::size_t read_batch::add(void const* source, std::int64_t width)
{
  integers_.push_back({source, width});
  return integers_.size() - 1;
}

void read_batch::enqueue()
{
  if (integers_.empty()) { return; }
  block_ = new read_back_block{integers_.size()};
  for (std::size_t i = 0; i < integers_.size(); ++i) {
    RMM_CUDA_TRY(cudaMemcpyAsync(block_->values() + i,
                                 integers_[i].source,
                                 static_cast<std::size_t>(integers_[i].width),
                                 cudaMemcpyDefault,
                                 stream_.get()));
  }
}

void read_batch::wait()
{
  RMM_CUDA_TRY(cudaStreamSynchronize(stream_.get()));
  is_done_ = true;
}

std::int64_t read_batch::at(std::size_t number) const
{ return widen(block_->values()[number], integers_[number].width); }

std::int64_t read_integer(void const* source, std::int64_t width, cuda::stream_ref stream)
{
  auto batch        = read_batch{stream};
  auto const number = batch.add(source, width);
  batch.enqueue();
  batch.wait();
  return batch.at(number);
}

}  // namespace cudf_arrow_bridge::detail::device
