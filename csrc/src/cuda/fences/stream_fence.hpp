// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/fences/fence_board.hpp"
#include "cuda/release/deferred_release.hpp"

#include <cuda/stream>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

namespace cudf_arrow_bridge::detail {

/**
 * @brief A fence in a stream, which reports to its board when the work before it is done.
 *
 * It is an object of the queue of fences: a thread blocks in CUDA until its event completes. There
 * is one thread for each stream, not for each device. A thread for all fences of a device would
 * wait for them in one order and delay fences of other streams. A program that enqueues work on one
 * stream only after a fence of another stream would deadlock.
 */
class stream_fence : private deferred_release {
 public:
  /**
   * @brief Creates a fence after the work that is enqueued on a stream.
   *
   * @throws rmm::cuda_error, std::bad_alloc or std::system_error
   */
  stream_fence(std::weak_ptr<fence_board> board, cuda::stream_ref stream);

  /**
   * @brief Creates a fence at a point that is recorded already.
   *
   * @throws std::bad_alloc or std::system_error
   *
   * @param board Board that gets the result
   * @param event Event recorded at that point
   * @param stream_id Id of the stream that it was recorded on
   * @param keeper Keeps the event alive
   */
  stream_fence(std::weak_ptr<fence_board> board,
               pooled_event const& event,
               std::uint64_t stream_id,
               std::shared_ptr<void const> keeper);

  ~stream_fence() override = default;

  /// Starts to wait. The fence then owns itself.
  static fence_id start(std::unique_ptr<stream_fence> fence);

 private:
  void finish(cudaError_t status) noexcept override;

  std::weak_ptr<fence_board> board_;
  std::shared_ptr<void const> keeper_;
  fence_id id_{0};
  bool is_ended_{false};  ///< only the objects that it keeps alive are left to release
};

}  // namespace cudf_arrow_bridge::detail
