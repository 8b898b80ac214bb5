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
 * @brief A fence in the work of a stream, which tells its board when that work is done.
 *
 * An object of the fences' queue: a thread blocks in CUDA until its event completes. Threads are
 * given out by stream, not by device. One thread that waited for all fences of a device would wait
 * for them in some order, and tell none before those of other streams; a program that enqueues the
 * work of one stream only when it is told of another's fence would then wait for ever.
 */
class stream_fence : private deferred_release {
 public:
  /**
   * @brief A fence behind the work enqueued on a stream so far.
   *
   * @throws rmm::cuda_error, std::bad_alloc or std::system_error
   */
  stream_fence(std::weak_ptr<fence_board> board, cuda::stream_ref stream);

  /**
   * @brief A fence at a point that was recorded already.
   *
   * @throws std::bad_alloc or std::system_error
   *
   * @param board Board to tell
   * @param event Event recorded at that point
   * @param stream_id Id of the stream that it was recorded on
   * @param keeper Keeps the event
   */
  stream_fence(std::weak_ptr<fence_board> board,
               pooled_event const& event,
               std::uint64_t stream_id,
               std::shared_ptr<void const> keeper);

  ~stream_fence() override = default;

  /// Begins to wait. The fence then owns itself.
  static fence_id start(std::unique_ptr<stream_fence> fence);

 private:
  void finish(cudaError_t status) noexcept override;

  std::weak_ptr<fence_board> board_;
  std::shared_ptr<void const> keeper_;
  fence_id id_{0};
  bool is_ended_{false};  ///< and only what it keeps is left to be dropped
};

}  // namespace cudf_arrow_bridge::detail
