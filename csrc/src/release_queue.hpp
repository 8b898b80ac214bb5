// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "deferred.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Destroys deferred objects once their streams have passed, on a thread of its own.
 *
 * One thread per process, which sleeps in CUDA until the next object's events have completed, then
 * destroys it without any lock held: a producer's `release` may be slow, call CUDA, take the GIL or
 * come back here. Objects go in the order in which they were pushed.
 */
class release_queue {
 public:
  static release_queue& instance();

  /**
   * @brief Starts the thread, once.
   *
   * @throws std::system_error if there can be no thread
   */
  void start();

  /// Queues an object that nobody uses any more. Takes ownership; `start` was called.
  void push(deferred* work) noexcept;

  /// Waits until all that was pushed before the call is destroyed.
  void drain() noexcept;

 private:
  release_queue() = default;

  void run() noexcept;
  static void release(deferred* work) noexcept;

  std::mutex mutex_;  ///< held for pushing and popping only, never with another lock
  std::condition_variable pushed_;
  std::condition_variable released_;
  deferred* first_{nullptr};
  deferred* last_{nullptr};
  std::uint64_t num_pushed_{0};
  std::uint64_t num_released_{0};
  std::thread worker_;
};

}  // namespace cudf_arrow_bridge::detail
