// SPDX-License-Identifier: Apache-2.0
#include "cuda/fences/stream_fence.hpp"

#include "cuda/release/release_queue.hpp"

#include <rmm/detail/error.hpp>

#include <utility>

namespace cudf_arrow_bridge::detail {

stream_fence::stream_fence(std::weak_ptr<fence_board> board, cuda::stream_ref stream)
  : deferred_release{true}, board_{std::move(board)}
{
  release_queue::of_fences().start();
  RMM_CUDA_TRY(record_point(stream));
}

stream_fence::stream_fence(std::weak_ptr<fence_board> board,
                           pooled_event const& event,
                           std::uint64_t stream_id,
                           std::shared_ptr<void const> keeper)
  : deferred_release{false}, board_{std::move(board)}, keeper_{std::move(keeper)}
{
  release_queue::instance().start();
  release_queue::of_fences().start();
  add_point(stream_id, event.lend());
}

fence_id stream_fence::start(std::unique_ptr<stream_fence> fence)
{
  auto const id = fence->id_ = fence->board_.lock()->add();
  release_queue::of_fences().push(fence.release());
  return id;
}

void stream_fence::finish(cudaError_t status) noexcept
{
  if (std::exchange(is_ended_, true)) {
    delete this;
    return;
  }
  auto const state  = status == cudaSuccess ? fence_state::reached : fence_state::failed;
  auto const result = fence_result{id_, state, status};
  auto const board  = board_.lock();
  if (keeper_ == nullptr) {
    delete this;
  } else {
    // Releasing it may take time, or need a lock whose holder waits for a fence, so the release
    // queue does that. It is queued before the fence is reported, because the receiver may drain
    // that queue.
    release_when_ready();
  }
  if (board != nullptr) { board->end(result); }
}

}  // namespace cudf_arrow_bridge::detail
