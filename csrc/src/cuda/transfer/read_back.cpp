// SPDX-License-Identifier: Apache-2.0
#include "cuda/transfer/read_back.hpp"

#include "cuda/ordering/captures.hpp"

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

namespace cudf_arrow_bridge::detail::device {

std::size_t read_back::add(void const* source, std::int64_t width)
{
  integers_.push_back({source, width});
  return integers_.size() - 1;
}

void read_back::enqueue()
{
  if (integers_.empty()) { return; }
  require_no_capture(stream_);
  auto const size = integers_.size() * sizeof(std::int64_t);
  memory_.emplace(size, size, transfer_kind::read_back, stream_);
  for (std::size_t i = 0; i < integers_.size(); ++i) {
    auto const& [source, width] = integers_[i];
    memory_->copy(values() + i, source, static_cast<std::size_t>(width));
  }
}

void read_back::wait()
{
  auto const relaxed = relaxed_captures{};
  RMM_CUDA_TRY(cudaStreamSynchronize(stream_.get()));
  note_wait();
}

std::int64_t read_back::at(std::size_t number) const
{
  // The integer was copied to the low bytes of a value, since hosts are little-endian.
  auto const width  = integers_[number].width;
  auto const unused = 64 - 8 * width;
  auto const high   = static_cast<std::uint64_t>(values()[number]) << unused;
  return width == 1 ? static_cast<std::int64_t>(high >> unused)
                    : static_cast<std::int64_t>(high) >> unused;
}

std::int64_t read_integer(void const* source, std::int64_t width, cuda::stream_ref stream)
{
  auto batch        = read_back{stream};
  auto const number = batch.add(source, width);
  batch.enqueue();
  batch.wait();
  return batch.at(number);
}

}  // namespace cudf_arrow_bridge::detail::device
