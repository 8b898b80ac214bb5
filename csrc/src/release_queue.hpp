// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "foreign_array.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Releases foreign arrays after the work that may still read them, on a thread of its own.
 *
 * One thread per process, which sleeps in CUDA until the next array's events have completed, then
 * calls the producer's `release` without any lock held: it may be slow, call CUDA, take the GIL or
 * come back here. Arrays are released in the order in which their last shares went.
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

  /// Queues an array without shares. Takes ownership; `start` was called.
  void push(foreign_array* array) noexcept;

  /// Waits until all that was pushed before the call is released.
  void drain() noexcept;

 private:
  release_queue() = default;

  void run() noexcept;
  static void release(foreign_array* array) noexcept;

  std::mutex mutex_;  ///< held for pushing and popping only, never with another lock
  std::condition_variable pushed_;
  std::condition_variable released_;
  foreign_array* first_{nullptr};
  foreign_array* last_{nullptr};
  std::uint64_t num_pushed_{0};
  std::uint64_t num_released_{0};
  std::thread worker_;
};

}  // namespace cudf_arrow_bridge::detail
