// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/ordering/events.hpp"

#include <rmm/cuda_device.hpp>

#include <cuda/stream>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace cudf_arrow_bridge::detail {

/**
 * @brief An object that destroys itself once recorded work on one or more streams is done.
 *
 * It is a node of the release queue, and acquires its first event on construction, so that
 * deferring needs no memory in the common case of one stream. It belongs to the device that is
 * current on construction: default streams are those of that device, events belong to it, and it is
 * current when the object is destroyed.
 */
class deferred_release {
 public:
  deferred_release(deferred_release const&)            = delete;
  deferred_release& operator=(deferred_release const&) = delete;

 protected:
  /**
   * @param prepare Whether `release_after` will be called; if not, CUDA is never called
   * @throws rmm::cuda_error, std::bad_alloc or std::system_error
   */
  explicit deferred_release(bool prepare);
  virtual ~deferred_release() = default;

  /// Defers destruction until the work enqueued on `stream` so far is done. Waits for that work if
  /// no event can be recorded. If that is because of a capture, a thread of the release queue
  /// records the event on the legacy default stream when that is usable again; the captured work,
  /// and earlier work of a non-blocking stream, are not waited for.
  void release_after(cuda::stream_ref stream) noexcept;

  /// Destroys this object: immediately if no work was recorded, otherwise on a thread of the
  /// release queue.
  void release_when_ready() noexcept;

  /// Makes `stream`, of the device `device`, wait for the recorded work and destroys this object
  /// immediately. If CUDA fails, calls `release_when_ready`.
  void release_in_order(cuda::stream_ref stream, int device) noexcept;

  /// Records the work enqueued on `stream` so far, as one more point to wait for.
  [[nodiscard]] cudaError_t record_point(cuda::stream_ref stream);

  /**
   * @brief Starts the queue of fences, and the release queue for objects that fences keep alive.
   *
   * @throws std::system_error if a thread cannot be created
   */
  static void start_fence_queue();

  /// Calls `finish` on a thread of the queue of fences once the recorded work is done.
  void push_to_fence_queue() noexcept;

  /// Adds a point that is recorded already.
  void add_point(unsigned long long stream_id, pooled_event event)
  { points_.push_back({stream_id, std::move(event)}); }

  /**
   * @brief Called on a thread of the queue once the recorded work is done, to destroy this object.
   *
   * @param status Error of the last point's work, or of an earlier one; cudaSuccess if there is
   * none
   */
  virtual void finish([[maybe_unused]] cudaError_t status) noexcept { delete this; }

 private:
  friend class release_queue;

  /// The last recorded point of one stream.
  struct release_point {
    unsigned long long stream_id;
    pooled_event event;
    bool is_recorded{true};  ///< false: to be recorded after a capture
  };

  /// Adds a point that is recorded after a capture.
  void add_point_after_capture();

  std::optional<rmm::cuda_device_id> device_;  ///< none if not prepared
  std::mutex mutex_;  ///< guards the points; the event pool's is the only one locked inside it
  pooled_event spare_;
  std::vector<release_point> points_;

  // Used by the release queue, once this is queued.
  std::size_t num_passed_{0};             ///< leading points known to be done
  std::uint64_t number_{0};               ///< position among all objects ever queued
  deferred_release* next_{nullptr};       ///< next in the same lane
  deferred_release* last_{nullptr};       ///< if first in its lane: the last there
  deferred_release* next_lane_{nullptr};  ///< if first in its lane: first of the next lane
};

/// Waits until all fences that were added before the call have ended; for tests.
bool drain_fences() noexcept;

}  // namespace cudf_arrow_bridge::detail
