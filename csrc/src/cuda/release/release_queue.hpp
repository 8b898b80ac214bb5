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
 * @brief Destroys deferred objects on its own threads, once their recorded work is done.
 *
 * Each thread blocks in CUDA until the next event of one stream completes, then destroys the object
 * that waited for it. No lock is held then: a producer's `release` may be slow, call CUDA, take the
 * GIL or push and drain here. Objects of one stream are destroyed in the order in which they were
 * pushed. Objects of other streams don't wait for them: there are as many threads as streams that
 * had unfinished work at a time. An object with several streams waits for one after the other.
 *
 * There are two queues of this kind. Fences have their own, so that no program waits for the
 * releases of producers when it waits for a fence.
 *
 * A forked child has its own queue, since the parent's threads do not exist there.
 */
class release_queue {
 public:
  release_queue() = default;

  /// The queue of this process. Never destroyed: arrays may be freed late during exit.
  static release_queue& instance();

  /// The queue of this process's fences, never destroyed either.
  static release_queue& of_fences();

  /**
   * @brief Starts the first thread, if none runs. `push` starts more when they are needed.
   *
   * @throws std::system_error if the thread cannot be created
   */
  void start();

  /// Queues an object and takes ownership of it. `start` must have been called.
  void push(deferred_release* work) noexcept;

  /// Waits until all objects pushed before the call are destroyed, at most 30 seconds.
  ///
  /// @return Whether an object was destroyed since the last call
  bool drain() noexcept;

 private:
  /// A call of `drain` in progress, on its thread's stack.
  struct drain_call {
    std::uint64_t before;  ///< it waits for objects with smaller numbers
    std::uint64_t left;    ///< how many of these are not destroyed yet
    drain_call* next;
  };

  void add_thread();
  void run(std::size_t worker) noexcept;
  void enqueue(deferred_release* work) noexcept;
  void note_release(std::uint64_t number) noexcept;
  static bool wait_and_release(deferred_release* work) noexcept;

  std::mutex mutex_;  ///< guards the members below; not held while CUDA or a producer is called
  std::condition_variable pushed_;
  std::condition_variable released_;
  release_lanes lanes_;
  std::size_t num_threads_{0};
  std::size_t num_idle_{0};  ///< threads without an object, also those about to wake
  std::uint64_t num_pushed_{0};
  std::uint64_t num_released_{0};
  std::uint64_t num_told_{0};  ///< `num_released_` at the end of the last `drain`
  drain_call* first_drain_{nullptr};
};

}  // namespace cudf_arrow_bridge::detail
