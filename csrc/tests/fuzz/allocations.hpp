// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cudf_arrow_bridge::fuzz {

/**
 * @brief Counts heap allocations while it is on, and makes one fail on request.
 *
 * Counts calls of the replaced `operator new`; with AddressSanitizer, all of malloc.
 */
struct allocation_meter {
  bool is_on{false};
  std::int64_t num_live{0};  ///< blocks allocated and not freed
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

/// The process's meter. Not synchronized, as the fuzzer has one thread.
allocation_meter& heap();

}  // namespace cudf_arrow_bridge::fuzz
