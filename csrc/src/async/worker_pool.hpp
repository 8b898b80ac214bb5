// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace cudf_arrow_bridge::detail {

/// Work in steps. A thread of the pool runs each step when it was requested.
class pooled_work : public std::enable_shared_from_this<pooled_work> {
 public:
  pooled_work()                              = default;
  pooled_work(pooled_work const&)            = delete;
  pooled_work& operator=(pooled_work const&) = delete;
  virtual ~pooled_work();

  /// Requests a step. May be called from any thread, also within a step. Several calls before the
  /// next step starts request one step.
  void schedule() noexcept;

 protected:
  /// @return Whether another step follows immediately, after those of other works
  virtual bool take_step() noexcept = 0;

 private:
  friend class worker_pool;

  /// @return Whether to queue it again
  bool run() noexcept;

  std::atomic<std::uint64_t> num_requests_{0};  ///< for the queued, the running or a later step
  std::shared_ptr<pooled_work> next_;           ///< in the queue of the pool
};

/**
 * @brief Threads for work that may block, started when all others are in a step.
 *
 * Works alternate: each step is appended to the queue. A forked child has its own pool.
 */
class worker_pool {
 public:
  /// A pool of as many threads as the environment variable `CUDF_ARROW_BRIDGE_MAX_THREADS` says,
  /// 256 by default.
  worker_pool();

  explicit worker_pool(std::size_t max_threads) : max_threads_{max_threads} {}

  /// The pool of this process. Never destroyed: streams may end late during exit.
  static worker_pool& instance();

  /**
   * @brief Starts the first thread, if none runs.
   *
   * @throws std::system_error if the thread cannot be created
   */
  void start();

  /// Queues a step. `start` must have been called. After `stop` the step is dropped.
  void push(std::shared_ptr<pooled_work> work) noexcept;

  /// Starts no more steps, and waits for the running ones, at most for a second.
  void stop() noexcept;

 private:
  void add_thread();
  void append(std::shared_ptr<pooled_work> work) noexcept;
  void run() noexcept;

  std::size_t max_threads_;
  std::mutex mutex_;  ///< guards the members below; not held during a step
  std::condition_variable pushed_;
  std::condition_variable finished_;
  std::shared_ptr<pooled_work> first_;
  pooled_work* last_{nullptr};
  std::size_t num_queued_{0};
  std::size_t num_threads_{0};
  std::size_t num_idle_{0};
  bool is_stopped_{false};
};

}  // namespace cudf_arrow_bridge::detail
