// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/ordering/captures.hpp"
#include "cuda/ordering/process.hpp"

#include <cuda/stream>
#include <cuda_runtime_api.h>

#include <utility>

namespace cudf_arrow_bridge::detail {

/**
 * @brief A CUDA event borrowed from the pool of its device.
 *
 * Timing is disabled, and a host that waits for it blocks instead of spinning. The destructor
 * returns it to the pool; waits enqueued before refer to the record at that time, so it may be
 * recorded again. In a forked child, events of the parent are not returned.
 */
class pooled_event {
 public:
  /// Holds no event.
  pooled_event() noexcept = default;

  /**
   * @brief Borrows an event of the current device.
   *
   * @throws rmm::cuda_error if the pool is empty and CUDA cannot create an event
   */
  [[nodiscard]] static pooled_event acquire();

  pooled_event(pooled_event&& other) noexcept { *this = std::move(other); }
  pooled_event& operator=(pooled_event&& other) noexcept;
  pooled_event(pooled_event const&)            = delete;
  pooled_event& operator=(pooled_event const&) = delete;
  ~pooled_event();

  [[nodiscard]] explicit operator bool() const noexcept { return event_ != nullptr; }

  /// @return Whether there is an event, and it was not inherited through a fork
  [[nodiscard]] bool is_usable() const noexcept
  { return event_ != nullptr && creator_process_.is_of_this_process(); }

  /// @return The same event, owned by this object and valid during its lifetime
  [[nodiscard]] pooled_event reference() const noexcept { return borrow(event_, device_); }

  /// @return An event of another owner, valid while that owner keeps it
  [[nodiscard]] static pooled_event borrow(cudaEvent_t event, int device) noexcept
  {
    auto borrowed         = pooled_event{event, device};
    borrowed.is_borrowed_ = true;
    return borrowed;
  }

  /// @return The address of the handle, for `ArrowDeviceArray.sync_event`
  [[nodiscard]] cudaEvent_t const* handle() const noexcept { return &event_; }

  /// @return The device of the event
  [[nodiscard]] int device() const noexcept { return device_; }

  /// Records the work enqueued on `stream`, which must belong to the event's device. Fails if the
  /// record would be captured or would invalidate a capture.
  [[nodiscard]] cudaError_t record(cuda::stream_ref stream) const noexcept
  {
    auto const status = check_captures(stream);
    return status == cudaSuccess ? cudaEventRecord(event_, stream.get()) : status;
  }

  /// Makes later work on `stream` wait for the recorded work. Fails as `record` does.
  [[nodiscard]] cudaError_t make_wait(cuda::stream_ref stream) const noexcept
  {
    auto const status = check_captures(stream);
    return status == cudaSuccess ? cudaStreamWaitEvent(stream.get(), event_) : status;
  }

  /**
   * @brief Makes later work on `later` wait for the work that is enqueued on `earlier`.
   *
   * Both streams must belong to the event's device.
   */
  [[nodiscard]] cudaError_t order(cuda::stream_ref later, cuda::stream_ref earlier) const noexcept
  {
    auto const status = record(earlier);
    return status == cudaSuccess ? make_wait(later) : status;
  }

  /// @return cudaSuccess if the recorded work is done, cudaErrorNotReady if not
  [[nodiscard]] cudaError_t query() const noexcept
  {
    auto const relaxed = relaxed_captures{};
    auto const status  = cudaEventQuery(event_);
    if (status == cudaErrorNotReady) { (void)cudaGetLastError(); }
    return status;
  }

  /// Blocks the calling thread until the recorded work is done.
  [[nodiscard]] cudaError_t wait() const noexcept
  {
    auto const relaxed = relaxed_captures{};
    return cudaEventSynchronize(event_);
  }

 private:
  pooled_event(cudaEvent_t event, int device) noexcept : event_{event}, device_{device} {}

  cudaEvent_t event_{nullptr};
  int device_{-1};
  process_id creator_process_;
  bool is_borrowed_{false};  ///< another object returns the event
};

/// Blocks the calling thread until the work enqueued on `stream`, and all work that it waits for,
/// is done; on the legacy default stream that includes other streams. Fails without waiting if that
/// would invalidate a capture.
cudaError_t synchronize(cuda::stream_ref stream) noexcept;

/// @return The number of events of this process that are in use and not in the pool; for leak tests
[[nodiscard]] std::size_t events_in_use() noexcept;

}  // namespace cudf_arrow_bridge::detail
