// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/fences.hpp>

#include <poll.h>

#include <chrono>
#include <vector>

namespace cudf_arrow_bridge::test {

/// Wait until the descriptor of a set is readable or a time has passed, and return its results.
inline std::vector<fence_result> poll_for(fence_set& fences, std::chrono::milliseconds limit)
{
  auto polled = pollfd{fences.fileno(), POLLIN, 0};
  (void)::poll(&polled, 1, static_cast<int>(limit.count()));
  return fences.poll();
}

}  // namespace cudf_arrow_bridge::test
