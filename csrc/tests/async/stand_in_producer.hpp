// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "async/counted_arrays.hpp"
#include "testing/arrow_schema.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::test {

/// A producer that makes the calls of a test, valid or not, and records the calls that it receives.
class stand_in_producer {
 public:
  /// The behavior of a task when it is extracted.
  struct answer {
    int code{0};
    bool has_array{true};
    std::function<void()> before{[] {}};
  };

  explicit stand_in_producer(ArrowAsyncDeviceStreamHandler* consumer = nullptr) : handler{consumer}
  {
  }

  stand_in_producer(stand_in_producer const&)            = delete;
  stand_in_producer& operator=(stand_in_producer const&) = delete;

  ~stand_in_producer()
  {
    if (handler != nullptr) { release(); }
    for (auto const& each : tasks_) { EXPECT_EQ(each->num_extractions, 1); }
  }

  int open()
  {
    handler->producer = &c;
    auto schema       = make_schema(flat("int32"));
    return handler->on_schema(handler, schema.get());
  }

  /// Pass a task to the handler.
  int give(answer how, char const* metadata = nullptr)
  {
    tasks_.push_back(std::make_unique<task>(task{.producer = this, .how = std::move(how)}));
    auto given = ArrowAsyncTask{&extract, tasks_.back().get()};
    return handler->on_next_task(handler, &given, metadata);
  }

  int give() { return give(answer{}); }

  int end() { return handler->on_next_task(handler, nullptr, nullptr); }

  void fail(int code, char const* message, char const* metadata = nullptr)
  { handler->on_error(handler, code, message, metadata); }

  /// Release the handler, and clear the producer's struct like a producer freed with its handler.
  void release()
  {
    auto* const released = std::exchange(handler, nullptr);
    released->release(released);
    c = {};
  }

  [[nodiscard]] long num_cancels() const
  { return std::count(calls.begin(), calls.end(), "cancel"); }

  ArrowAsyncDeviceStreamHandler* handler;  ///< null: released
  ArrowAsyncProducer c{ARROW_DEVICE_CPU,
                       [](auto* p, std::int64_t n) {
                         of(p).record("request " + std::to_string(n));
                         of(p).on_request(n);
                       },
                       [](auto* p) {
                         of(p).record("cancel");
                         of(p).on_cancel();
                       },
                       nullptr,
                       this};
  std::vector<std::string> calls;
  std::function<void(std::int64_t)> on_request{[](std::int64_t) {}};
  std::function<void()> on_cancel{[] {}};
  counted_arrays arrays;

 private:
  struct task {
    stand_in_producer* producer;
    answer how;
    int num_extractions{0};
  };

  static stand_in_producer& of(ArrowAsyncProducer* producer)
  { return *static_cast<stand_in_producer*>(producer->private_data); }

  void record(std::string call)
  {
    auto const lock = std::scoped_lock{mutex_};
    calls.push_back(std::move(call));
  }

  static int extract(ArrowAsyncTask* self, ArrowDeviceArray* out)
  {
    auto& extracted = *static_cast<task*>(self->private_data);
    ++extracted.num_extractions;
    extracted.how.before();
    if (out != nullptr && extracted.how.has_array) {
      auto const lock = std::scoped_lock{extracted.producer->mutex_};
      extracted.producer->arrays.make().move_to(out);
    }
    return extracted.how.code;
  }

  std::mutex mutex_;  ///< for `calls` and `arrays`, which the consumer's threads change
  std::vector<std::unique_ptr<task>> tasks_;
};

}  // namespace cudf_arrow_bridge::test
