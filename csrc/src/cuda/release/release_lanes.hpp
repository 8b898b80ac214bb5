// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/release/deferred_release.hpp"

#include <array>
#include <cstddef>
#include <optional>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Deferred objects in the order in which they came, in one lane for each stream that they
 * wait for next.
 *
 * Takes no memory: what is queued links itself. Not synchronised, that is the release queue's part.
 */
class release_lanes {
 public:
  /// How many lanes can be worked on at a time.
  static constexpr std::size_t max_workers = 8;

  /// Puts an object at the end of the lane of the next stream that it waits for.
  void push(deferred_release* work) noexcept;

  /**
   * @brief Takes the first object of a lane that nobody works on, which `worker` then does.
   *
   * @return The object, or null if there is no such lane
   */
  [[nodiscard]] deferred_release* take(std::size_t worker) noexcept;

  /// Ends the work on a lane.
  void put_down(std::size_t worker) noexcept { in_hand_[worker].reset(); }

  /// @return How many lanes wait for a worker
  [[nodiscard]] std::size_t num_waiting() const noexcept;

 private:
  [[nodiscard]] static unsigned long long stream_of(deferred_release const& work) noexcept
  { return work.points_[work.num_passed_].stream_id; }

  [[nodiscard]] bool in_hand(unsigned long long stream_id) const noexcept;

  deferred_release* first_lane_{nullptr};
  std::array<std::optional<unsigned long long>, max_workers> in_hand_;  ///< streams, by worker
};

}  // namespace cudf_arrow_bridge::detail
