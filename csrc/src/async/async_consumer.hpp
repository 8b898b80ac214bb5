// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "async/calls_in_flight.hpp"
#include "cuda/ordering/process.hpp"

#include <cudf_arrow_bridge/async.hpp>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace cudf_arrow_bridge::detail {

/**
 * @brief The shared state of a reader and a producer: the handler, and the tasks that were
 *   delivered and not taken.
 *
 * `release` drops the producer's share. No lock is held while the producer, or `notify`, is called.
 */
class async_consumer : public std::enable_shared_from_this<async_consumer> {
 public:
  async_consumer(std::int64_t prefetch, std::function<void()> notify);
  async_consumer(async_consumer const&)            = delete;
  async_consumer& operator=(async_consumer const&) = delete;

  /// See `async_stream_reader`.
  [[nodiscard]] ArrowAsyncDeviceStreamHandler* take_handler();
  void abandon() noexcept;
  [[nodiscard]] bool has_schema() const noexcept;
  [[nodiscard]] ArrowSchema const& schema() const;
  [[nodiscard]] ArrowDeviceType device_type() const noexcept;
  [[nodiscard]] std::string const& metadata() const noexcept;
  [[nodiscard]] bool is_ready() const noexcept;
  void wait() const;
  [[nodiscard]] std::optional<async_batch> next();
  void cancel() noexcept;

 private:
  /// An array that the producer has delivered.
  struct task {
    ArrowAsyncTask c;
    std::string metadata;
  };

  struct failure {
    int code;
    std::string message;
    std::string metadata;
  };

  static async_consumer& of(ArrowAsyncDeviceStreamHandler* handler) noexcept
  { return *static_cast<async_consumer*>(handler->private_data); }

  static int on_schema(ArrowAsyncDeviceStreamHandler* handler, ArrowSchema* schema) noexcept;
  static int on_next_task(ArrowAsyncDeviceStreamHandler* handler,
                          ArrowAsyncTask* task,
                          char const* metadata) noexcept;
  static void on_error(ArrowAsyncDeviceStreamHandler* handler,
                       int code,
                       char const* message,
                       char const* metadata) noexcept;
  static void release(ArrowAsyncDeviceStreamHandler* handler) noexcept;

  int open(ArrowAsyncProducer* producer, unique_schema schema);
  int take(ArrowAsyncTask* task, char const* metadata);
  void end();
  void fail(int code, char const* message, std::string metadata) noexcept;
  void release_handler() noexcept;

  /// Call both with the lock.
  [[nodiscard]] bool is_over() const noexcept { return is_cancelled_ || has_ended_ || failure_; }
  void keep_failure(int code, char const* message, std::string metadata) noexcept;

  [[nodiscard]] unique_device_array extract(ArrowAsyncTask& from);
  void stop(std::unique_lock<std::mutex>& lock, bool tell_producer) noexcept;
  void notify(std::unique_lock<std::mutex>& lock) const noexcept;
  [[noreturn]] static void raise(failure const& failure);

  std::int64_t prefetch_;
  ArrowAsyncDeviceStreamHandler handler_;
  process_id made_in_;

  mutable std::mutex mutex_;  ///< guards the members below
  mutable std::condition_variable changed_;
  shared_callback notify_;  ///< null: not set, or after `release`
  std::shared_ptr<async_consumer> producers_share_;
  bool is_taken_{false};
  ArrowAsyncProducer* producer_{nullptr};  ///< not called before `on_schema` or after the end
  calls_in_flight calls_;                  ///< into the producer
  bool has_schema_{false};                 ///< if set, the next three do not change any more
  unique_schema schema_;
  ArrowDeviceType device_type_{0};
  std::string metadata_;
  std::int64_t num_requested_{0};  ///< and not delivered
  std::list<task> tasks_;          ///< handed over and not taken

  bool has_ended_{false};
  bool is_cancelled_{false};
  std::optional<failure> failure_;
};

}  // namespace cudf_arrow_bridge::detail
