// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/ordering/events.hpp"

#include <rmm/cuda_device.hpp>

#include <cuda/stream>

#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <vector>

namespace cudf_arrow_bridge::detail {

class deferred_release;

/// A place in a queue of objects that wait for work of the GPU.
struct queue_place {
  deferred_release* object;
  std::uint64_t number{0};  ///< position among all objects ever queued
  bool is_polled{false};    ///< whether a thread is polling or destroying the object
};

/**
 * @brief An object that destroys itself once recorded work on one or more streams is done.
 *
 * It acquires its first event and its place in the queue on construction, so that deferring needs
 * no memory in the common case of one stream. It belongs to the device that is current on
 * construction: default streams are those of that device, events belong to it, and it is current
 * when the object is destroyed.
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
  /// no event can be recorded. If that is because of a capture, the event is recorded on the legacy
  /// default stream when that is usable again; the captured work, and earlier work of a
  /// non-blocking stream, are not waited for.
  ///
  /// @param unless_idle Whether to defer nothing if no work is left on the stream
  void release_after(cuda::stream_ref stream, bool unless_idle = false) noexcept;

  /// Destroys this object: immediately if no work was recorded, otherwise on a thread of the
  /// library or in a later import.
  void release_when_ready() noexcept;

  /// Makes `stream`, of the device `device`, wait for the recorded work and destroys this object
  /// immediately. If CUDA fails, calls `release_when_ready`.
  void release_in_order(cuda::stream_ref stream, int device) noexcept;

  /// Records the work enqueued on `stream` so far, as one more point to wait for.
  [[nodiscard]] cudaError_t record_point(cuda::stream_ref stream);

  /**
   * @brief Prepares for the queue of fences.
   *
   * @throws std::system_error if a thread cannot be created
   */
  void prepare_fence();

  /// Adds a point that is recorded already.
  void add_point(pooled_event event) { points_.push_back({0, std::move(event)}); }

  /// Calls `finish` on the thread of the fences once the recorded work is done.
  void push_to_fence_queue() noexcept;

  /**
   * @brief Called once the recorded work is done, to destroy this object.
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

  /// Calls `finish` if the recorded work is done. @return Whether it was
  bool finish_if_done() noexcept;

  std::optional<rmm::cuda_device_id> device_;  ///< none if not prepared
  std::mutex mutex_;  ///< guards the points; the event pool's is the only one locked inside it
  pooled_event spare_;
  std::vector<release_point> points_;
  std::list<queue_place> places_;  ///< to be moved to a queue
};

/// Destroys the objects whose recorded work is done, on this thread. Does nothing while this thread
/// destroys one of them.
void finish_ready_releases() noexcept;

/// Waits until all fences that were added before the call have ended; for tests.
bool drain_fences() noexcept;

}  // namespace cudf_arrow_bridge::detail
