// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/release/deferred_release.hpp"
#include "cuda/release/release_lanes.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Destroys deferred objects once their streams have passed, on threads of its own.
 *
 * Each thread sleeps in CUDA until the next event of one stream has completed, then destroys the
 * object that waited for it without any lock held: a producer's `release` may be slow, call CUDA,
 * take the GIL or come back here. Objects of one stream go in the order in which they were pushed.
 * Those of other streams don't wait for them, as long as no more streams are late than there are
 * threads. An object that waits for several streams waits for one after the other.
 *
 * A forked child has a queue of its own, for what it pushes itself: its parent's threads are gone.
 */
class release_queue {
 public:
  release_queue() = default;

  /// The queue of this process. Never destroyed: arrays may be freed by destructors that run late.
  static release_queue& instance();

  /**
   * @brief Starts the first thread, once. Others follow when there is more for them to do.
   *
   * @throws std::system_error if there can be no thread
   */
  void start();

  /// Queues an object that nobody uses any more. Takes ownership; `start` was called.
  void push(deferred_release* work) noexcept;

  /// Waits until all that was pushed before the call is destroyed, or for 30 seconds.
  void drain() noexcept;

 private:
  /// Somebody who waits for all objects that were queued before they came.
  struct waiting {
    std::uint64_t before;  ///< objects from this number on don't count
    std::uint64_t left;
    waiting* next;
  };

  void add_thread();
  void run(std::size_t worker) noexcept;
  void enqueue(deferred_release* work) noexcept;
  void note_release(std::uint64_t number) noexcept;
  static bool wait_and_release(deferred_release* work) noexcept;

  std::mutex mutex_;  ///< of what follows; never held while CUDA or a producer is called
  std::condition_variable pushed_;
  std::condition_variable released_;
  release_lanes lanes_;
  std::size_t num_threads_{0};
  std::size_t num_idle_{0};  ///< threads that have nothing in hand, those about to wake included
  std::uint64_t num_pushed_{0};
  std::uint64_t num_released_{0};
  waiting* first_waiting_{nullptr};
};

}  // namespace cudf_arrow_bridge::detail
