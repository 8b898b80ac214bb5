// SPDX-License-Identifier: Apache-2.0
#include "cuda/release/release_lanes.hpp"

#include <algorithm>

namespace cudf_arrow_bridge::detail {

void release_lanes::push(deferred_release* work) noexcept
{
  work->next_ = nullptr;
  auto** lane = &first_lane_;
  while (*lane != nullptr && stream_of(**lane) != stream_of(*work)) { lane = &(*lane)->next_lane_; }
  if (*lane == nullptr) {
    work->last_      = work;
    work->next_lane_ = nullptr;
    *lane            = work;
  } else {
    (*lane)->last_->next_ = work;
    (*lane)->last_        = work;
  }
}

deferred_release* release_lanes::take(std::size_t worker) noexcept
{
  auto** lane = &first_lane_;
  while (*lane != nullptr && is_busy(stream_of(**lane))) { lane = &(*lane)->next_lane_; }
  auto* const taken = *lane;
  if (taken == nullptr) { return nullptr; }
  *lane = taken->next_lane_;
  if (auto* const rest = taken->next_) {
    // Append the rest as the last lane, so that lanes take turns.
    rest->last_      = taken->last_;
    rest->next_lane_ = nullptr;
    while (*lane != nullptr) { lane = &(*lane)->next_lane_; }
    *lane = rest;
  }
  busy_streams_[worker] = stream_of(*taken);
  return taken;
}

std::size_t release_lanes::num_waiting() const noexcept
{
  auto count = std::size_t{0};
  for (auto const* lane = first_lane_; lane != nullptr; lane = lane->next_lane_) {
    count += is_busy(stream_of(*lane)) ? 0 : 1;
  }
  return count;
}

bool release_lanes::is_busy(unsigned long long stream_id) const noexcept
{ return std::find(busy_streams_.begin(), busy_streams_.end(), stream_id) != busy_streams_.end(); }

}  // namespace cudf_arrow_bridge::detail
