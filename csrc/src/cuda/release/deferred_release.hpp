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
 * @brief Something to be destroyed once certain points of certain streams have passed.
 *
 * It is the node of the release queue itself and acquires its first event as it is made, so that
 * deferring needs no memory in the common case of one stream. It belongs to the device that was
 * current then: that one's default streams are meant where a default stream is named, its events
 * are recorded, and it is current when this is destroyed.
 */
class deferred_release {
 public:
  deferred_release(deferred_release const&)            = delete;
  deferred_release& operator=(deferred_release const&) = delete;

 protected:
  /**
   * @param prepare Whether any point will have to pass; without, no CUDA call is ever made
   * @throws rmm::cuda_error, std::bad_alloc or std::system_error
   */
  explicit deferred_release(bool prepare);
  virtual ~deferred_release() = default;

  /// Adds the work enqueued on `stream` so far to what must be done first; may wait for it.
  void release_after(cuda::stream_ref stream) noexcept;

  /// Destroys this object: now if nothing must be done first, else on a thread of the queue's.
  void release_when_ready() noexcept;

 private:
  friend class release_lanes;
  friend class release_queue;

  /// The last point of one stream that must be passed.
  struct release_point {
    unsigned long long stream_id;
    pooled_event event;
  };

  [[nodiscard]] cudaError_t record_point(cuda::stream_ref stream);

  std::optional<rmm::cuda_device_id> device_;  ///< none if no point will have to pass
  std::mutex mutex_;  ///< of what follows; the event pool's may be taken within, no other
  pooled_event spare_;
  std::vector<release_point> points_;

  // The release queue's, once this is in it.
  std::size_t num_passed_{0};             ///< of the passages, in their order
  std::uint64_t number_{0};               ///< of all that was ever queued
  deferred_release* next_{nullptr};       ///< in its lane
  deferred_release* last_{nullptr};       ///< of its lane, if it is the first there
  deferred_release* next_lane_{nullptr};  ///< first of the next lane, if it is the first of its own
};

}  // namespace cudf_arrow_bridge::detail
