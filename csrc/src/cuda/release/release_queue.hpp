// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/release/deferred_release.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace cudf_arrow_bridge::detail {

/**
 * @brief FIFO queues (lanes) of deferred objects, one for each stream that objects wait for next.
 *
 * Only adding a worker allocates: the objects are linked through their own members. Not
 * thread-safe; guarded by the mutex of the release queue.
 */
class release_lanes {
 public:
  /// Adds a worker, without a lane. Workers are numbered from 0.
  ///
  /// @throws std::bad_alloc
  void add_worker() { busy_streams_.emplace_back(); }

  /// Appends an object to the lane of the stream that it waits for next.
  void push(deferred_release* work) noexcept;

  /**
   * @brief Takes the first object of a lane without a worker, and assigns the lane to `worker`.
   *
   * @return The object, or null if there is no such lane
   */
  [[nodiscard]] deferred_release* take(std::size_t worker) noexcept;

  /// Returns the lane of `worker`.
  void finish(std::size_t worker) noexcept { busy_streams_[worker].reset(); }

  /// @return The number of lanes with objects and without a worker
  [[nodiscard]] std::size_t num_waiting() const noexcept;

 private:
  [[nodiscard]] static unsigned long long stream_of(deferred_release const& work) noexcept
  { return work.points_[work.num_passed_].stream_id; }

  [[nodiscard]] bool is_busy(unsigned long long stream_id) const noexcept;

  deferred_release* first_lane_{nullptr};
  std::vector<std::optional<unsigned long long>> busy_streams_;  ///< by worker
};

/**
 * @brief Destroys deferred objects on its own threads, once their recorded work is done.
 *
 * Each thread blocks in CUDA until the next event of one stream completes, then destroys the object
 * that waited for it. No lock is held then: a producer's `release` may be slow, call CUDA, take the
 * GIL or push and drain here. Objects of one stream are destroyed in the order in which they were
 * pushed. Objects of other streams do not wait for them: there are as many threads as there were
 * streams with unfinished work at one time. An object with several streams waits for one after the
 * other.
 *
 * There are two such queues. Fences have their own, so that fences do not wait for the releases of
 * producers.
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
    std::uint64_t left;    ///< the number of these that are not destroyed yet
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
