// SPDX-License-Identifier: Apache-2.0
#include "base/nvtx.hpp"
#include "cuda/fences/fence_board.hpp"
#include "cuda/fences/stream_fence.hpp"

#include <cudf_arrow_bridge/fences.hpp>
#include <cudf_arrow_bridge/memory.hpp>

#include <utility>

namespace cudf_arrow_bridge {

std::string error_text(cudaError_t error)
{ return std::string{cudaGetErrorName(error)} + ": " + cudaGetErrorString(error); }

fence_set fence_set::make()
{
  auto result   = fence_set{};
  result.board_ = std::make_shared<detail::fence_board>();
  return result;
}

int fence_set::fileno() const noexcept { return board_->fileno(); }

fence_id fence_set::add(cuda::stream_ref stream)
{
  detail::nvtx_range const range{__func__};
  // Before CUDA is used: the stream may be the parent's, too.
  board_->check_process();
  if (!has_gpu()) { return add(detail::pooled_event{}, 0, nullptr); }
  return detail::stream_fence::start(std::make_unique<detail::stream_fence>(board_, stream));
}

fence_id fence_set::add(cudaEvent_t event,
                        int device,
                        std::uint64_t lane,
                        std::shared_ptr<void const> keeper)
{
  // The ids of streams are small.
  constexpr auto foreign = std::uint64_t{1} << 63;
  auto const point       = detail::pooled_event::borrow(event, device);
  if (point.query() == cudaSuccess) { return 0; }
  (void)cudaGetLastError();
  return add(point, lane | foreign, std::move(keeper));
}

fence_id fence_set::add(detail::pooled_event const& event,
                        std::uint64_t stream_id,
                        std::shared_ptr<void const> keeper)
{
  if (!event) {
    auto const fence = add();
    complete(fence);
    return fence;
  }
  return detail::stream_fence::start(
    std::make_unique<detail::stream_fence>(board_, event, stream_id, std::move(keeper)));
}

fence_id fence_set::add() { return board_->add(); }

void fence_set::complete(fence_id fence) noexcept
{ board_->end({fence, fence_state::reached, cudaSuccess}); }

bool fence_set::cancel(fence_id fence) noexcept
{ return board_->end({fence, fence_state::cancelled, cudaSuccess}); }

std::size_t fence_set::num_pending() const noexcept { return board_->num_pending(); }

std::vector<fence_result> fence_set::poll(std::optional<std::chrono::nanoseconds> timeout)
{ return board_->poll(timeout); }

void fence_set::wake() noexcept { board_->wake(); }

}  // namespace cudf_arrow_bridge
