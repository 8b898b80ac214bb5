// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/ordering/process.hpp"

#include <cuda/stream>
#include <cuda_runtime_api.h>

namespace cudf_arrow_bridge::detail {

/**
 * @brief A CUDA event on loan from the pool of its device.
 *
 * Timing is disabled, and waiting for it on the host blocks rather than spins. It goes back to the
 * pool with its owner: waits that were enqueued before keep the record that they saw. A forked
 * child gives none of its parent's back.
 */
class pooled_event {
 public:
  /// No event.
  pooled_event() noexcept = default;

  /**
   * @brief An event of the current device.
   *
   * @throws rmm::cuda_error if the pool is empty and CUDA makes no new one
   */
  [[nodiscard]] static pooled_event acquire();

  pooled_event(pooled_event&& other) noexcept;
  pooled_event& operator=(pooled_event&& other) noexcept;
  pooled_event(pooled_event const&)            = delete;
  pooled_event& operator=(pooled_event const&) = delete;
  ~pooled_event();

  [[nodiscard]] explicit operator bool() const noexcept { return event_ != nullptr; }

  /// @return Whether there is an event, and not one that a forked child has of its parent
  [[nodiscard]] bool is_usable() const noexcept
  { return event_ != nullptr && made_in_.is_of_this_process(); }

  /// @return Where the handle is, as `ArrowDeviceArray.sync_event` wants it
  [[nodiscard]] cudaEvent_t const* handle() const noexcept { return &event_; }

  /// @return The device that it is of
  [[nodiscard]] int device() const noexcept { return device_; }

  /// Records the work enqueued on `stream`, which must be of the event's device.
  [[nodiscard]] cudaError_t record(cuda::stream_ref stream) const noexcept
  { return cudaEventRecord(event_, stream.get()); }

  /**
   * @brief Makes what is enqueued on `later` from now on wait for the work that `earlier` has.
   *
   * Both streams must be of the event's device.
   */
  [[nodiscard]] cudaError_t order(cuda::stream_ref later, cuda::stream_ref earlier) const noexcept
  {
    auto const status = record(earlier);
    return status == cudaSuccess ? cudaStreamWaitEvent(later.get(), event_) : status;
  }

  /// Blocks the calling thread until the recorded work is done.
  [[nodiscard]] cudaError_t wait() const noexcept { return cudaEventSynchronize(event_); }

 private:
  pooled_event(cudaEvent_t event, int device) noexcept : event_{event}, device_{device} {}

  cudaEvent_t event_{nullptr};
  int device_{-1};
  process_stamp made_in_;
};

/// Blocks the calling thread until the work enqueued on `stream`, and all it comes after, is done.
cudaError_t synchronize(cuda::stream_ref stream) noexcept;

/// @return Events that this process made and that are not in its pool, for tests that look for
/// leaks
[[nodiscard]] std::size_t events_on_loan() noexcept;

}  // namespace cudf_arrow_bridge::detail
