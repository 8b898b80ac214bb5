// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "testing/arrow_schema.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/owners.hpp>

#include <functional>
#include <string>
#include <vector>

namespace cudf_arrow_bridge::test {

/// Return metadata of one pair, encoded as in `ArrowSchema.metadata`.
inline std::string encoded(std::string const& key, std::string const& value)
{
  auto buffer = nanoarrow::UniqueBuffer{};
  check(ArrowMetadataBuilderInit(buffer.get(), nullptr));
  check(ArrowMetadataBuilderAppend(
    buffer.get(), ArrowCharView(key.c_str()), ArrowCharView(value.c_str())));
  return {reinterpret_cast<char const*>(buffer->data),
          static_cast<std::size_t>(buffer->size_bytes)};
}

/// Return the value of "key" in encoded metadata; "-" for a null pointer.
inline std::string decoded(char const* metadata)
{
  if (metadata == nullptr) { return "-"; }
  auto value = ArrowStringView{};
  check(ArrowMetadataGetValue(metadata, ArrowCharView("key"), &value));
  return {value.data, static_cast<std::size_t>(value.size_bytes)};
}

/// A consumer that records each call and then calls a function of the test.
class recording_handler {
 public:
  recording_handler()
    : c{[](auto* h, ArrowSchema* schema) { return of(h).take_schema(schema); },
        [](auto* h, ArrowAsyncTask* task, char const* metadata) {
          return of(h).take_task(task, metadata);
        },
        [](auto* h, int code, char const* message, char const* metadata) {
          of(h).calls.push_back("error " + std::to_string(code) + " " + message + " " +
                                decoded(metadata));
          of(h).has_producer &= h->producer != nullptr;
        },
        [](auto* h) { of(h).calls.emplace_back("release"); },
        nullptr,
        this}
  {
  }

  recording_handler(recording_handler const&)            = delete;
  recording_handler& operator=(recording_handler const&) = delete;

  void request(std::int64_t count) const { c.producer->request(c.producer, count); }
  void cancel() const { c.producer->cancel(c.producer); }

  /// Extract the array of a task.
  static unique_device_array extract(ArrowAsyncTask& task)
  {
    auto array = unique_device_array{};
    EXPECT_EQ(task.extract_data(&task, array.get()), 0);
    return array;
  }

  ArrowAsyncDeviceStreamHandler c;
  std::vector<std::string> calls;
  bool has_producer{true};  ///< whether each call that may need a producer had one
  std::function<int(ArrowSchema*)> on_schema{[](ArrowSchema*) { return 0; }};
  std::function<int(ArrowAsyncTask&)> on_task{[](ArrowAsyncTask& task) {
    (void)extract(task);
    return 0;
  }};

 private:
  static recording_handler& of(ArrowAsyncDeviceStreamHandler* handler)
  { return *static_cast<recording_handler*>(handler->private_data); }

  int take_schema(ArrowSchema* schema)
  {
    has_producer &= c.producer != nullptr;
    calls.push_back(std::string{"schema "} + schema->format + " " +
                    decoded(c.producer->additional_metadata));
    return on_schema(schema);
  }

  int take_task(ArrowAsyncTask* task, char const* metadata)
  {
    has_producer &= c.producer != nullptr;
    if (task == nullptr) {
      calls.emplace_back("end");
      return 0;
    }
    calls.push_back("task " + decoded(metadata));
    auto moved = *task;  // like a consumer that keeps the task
    *task      = {};
    return on_task(moved);
  }
};

}  // namespace cudf_arrow_bridge::test
