// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/release/deferred_release.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace cudf_arrow_bridge::detail {

/**
 * @brief FIFO queues (lanes) of deferred objects, one for each stream that objects wait for next.
 *
 * Only adding a worker allocates: the objects are linked through their own members. Not
 * thread-safe; guarded by the mutex of the release queue.
 */
class release_lanes {
 public:
  /// Adds a worker, without a lane. Workers are numbered from 0.
  ///
  /// @throws std::bad_alloc
  void add_worker() { busy_streams_.emplace_back(); }

  /// Appends an object to the lane of the stream that it waits for next.
  void push(deferred_release* work) noexcept;

  /**
   * @brief Takes the first object of a lane without a worker; `worker` then has the lane.
   *
   * @return The object, or null if there is no such lane
   */
  [[nodiscard]] deferred_release* take(std::size_t worker) noexcept;

  /// Gives the lane of `worker` back.
  void finish(std::size_t worker) noexcept { busy_streams_[worker].reset(); }

  /// @return How many lanes have objects and no worker
  [[nodiscard]] std::size_t num_waiting() const noexcept;

 private:
  [[nodiscard]] static unsigned long long stream_of(deferred_release const& work) noexcept
  { return work.points_[work.num_passed_].stream_id; }

  [[nodiscard]] bool is_busy(unsigned long long stream_id) const noexcept;

  deferred_release* first_lane_{nullptr};
  std::vector<std::optional<unsigned long long>> busy_streams_;  ///< by worker
};

}  // namespace cudf_arrow_bridge::detail
