// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cudf_arrow_bridge::fuzz {

/**
 * @brief What was asked of the heap while it was looked at, and how to make it refuse.
 *
 * Replaces `operator new`; under the address sanitizer all of malloc counts.
 */
struct allocation_meter {
  bool is_on{false};
  std::int64_t num_live{0};  ///< blocks, less those that were freed
  std::int64_t bytes_live{0};
  std::int64_t bytes_peak{0};
  std::int64_t news_until_failure{-1};  ///< calls of `operator new` before one throws; -1: never

  void start(std::int64_t failure)
  {
    *this              = {};
    news_until_failure = failure;
    is_on              = true;
  }

  void stop()
  {
    is_on              = false;
    news_until_failure = -1;
  }
};

/// The one of this process, whose only thread is the fuzzer's.
allocation_meter& heap();

}  // namespace cudf_arrow_bridge::fuzz
