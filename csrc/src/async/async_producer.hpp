// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "async/calls_in_flight.hpp"

#include <cudf_arrow_bridge/async.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace cudf_arrow_bridge::detail {

/**
 * @brief The shared state of a writer and a consumer: the requests of the consumer.
 *
 * Tasks also have a share, because consumers call `request` after the release, before they extract
 * the last task. No lock is held while the consumer or `wanted` is called.
 */
class async_producer : public std::enable_shared_from_this<async_producer> {
 public:
  async_producer(ArrowAsyncDeviceStreamHandler* handler, std::function<void()> wanted);
  async_producer(async_producer const&)            = delete;
  async_producer& operator=(async_producer const&) = delete;

  /// See `async_stream_writer`.
  bool open(unique_schema schema, ArrowDeviceType device_type, std::string metadata);
  [[nodiscard]] std::int64_t num_wanted() const noexcept;
  [[nodiscard]] bool is_over() const noexcept;
  bool write(unique_device_array array, std::string const& metadata);
  void finish() noexcept;
  void fail(int code, std::string const& message, std::string const& metadata) noexcept;

 private:
  /// The private data of an `ArrowAsyncTask`.
  struct task {
    std::shared_ptr<async_producer> producer;
    unique_device_array array;
  };

  static void request(ArrowAsyncProducer* producer, std::int64_t count) noexcept;
  static void cancel(ArrowAsyncProducer* producer) noexcept;
  static int extract_data(ArrowAsyncTask* task, ArrowDeviceArray* out) noexcept;

  template <typename Note>
  void note(Note const& note) noexcept;
  bool fail_bad_request() noexcept;
  void close() noexcept;

  ArrowAsyncProducer c_;
  std::string metadata_;
  ArrowAsyncDeviceStreamHandler* handler_;  ///< null: released; used only by the writer

  mutable std::mutex mutex_;       ///< guards the members below
  shared_callback wanted_;         ///< null: not set, or after `release`
  std::int64_t num_requested_{0};  ///< and not written
  bool is_request_bad_{false};
  bool is_cancelled_{false};
  bool is_closed_{false};
  task* offered_{nullptr};  ///< passed to the running call of `on_next_task`, and not extracted
};

}  // namespace cudf_arrow_bridge::detail
