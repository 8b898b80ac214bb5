// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/ordering/process.hpp"

#include <cudf_arrow_bridge/fences.hpp>

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <vector>

namespace cudf_arrow_bridge::detail {

/**
 * @brief The shared state of the handles of a `fence_set`: pending fences and results.
 *
 * The first of completion and cancellation ends a fence, and its result is reported once. Ending a
 * fence does not allocate. The methods are those of `fence_set`.
 */
class fence_board {
 public:
  /// @throws std::system_error if the kernel cannot create an eventfd
  fence_board();
  ~fence_board();
  fence_board(fence_board const&)            = delete;
  fence_board& operator=(fence_board const&) = delete;

  [[nodiscard]] int fileno() const noexcept { return descriptor_; }

  /// @throws std::logic_error in a forked child, which does not have these fences
  void check_process() const;

  /**
   * @brief Adds a fence.
   *
   * @throws std::logic_error in a forked child
   */
  [[nodiscard]] fence_id add();

  /**
   * @brief Ends a fence.
   *
   * @return Whether it was pending
   */
  bool end(fence_result const& result) noexcept;

  [[nodiscard]] std::size_t num_pending() const noexcept;
  [[nodiscard]] std::vector<fence_result> poll(std::optional<std::chrono::nanoseconds> timeout);
  void wake() noexcept;

 private:
  void signal() noexcept;
  void reset_signal() noexcept;
  [[nodiscard]] std::optional<std::vector<fence_result>> take();

  int const descriptor_;
  process_id made_in_;  ///< checked before locking: the mutex may have been locked at the fork
  mutable std::mutex mutex_;  ///< guards the members below, and the descriptor's counter
  fence_id newest_{0};
  std::unordered_set<fence_id> pending_;
  std::vector<fence_result> ended_;  ///< has room for the results of all pending fences
  bool is_signalled_{false};  ///< whether the descriptor is readable, and `poll` returns at once
};

}  // namespace cudf_arrow_bridge::detail
