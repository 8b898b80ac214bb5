// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the producer of Arrow C++: behavior that the specification does not define, or forbids.
#include "peers/arrow_cpp/batches.hpp"
#include "peers/arrow_cpp/trials.hpp"
#include "peers/arrow_cpp/witness.hpp"

#include <arrow/c/bridge.h>
#include <arrow/util/async_generator.h>
#include <arrow/util/thread_pool.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <thread>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

/// A handler that keeps its tasks. A test sets its return code and its requests.
class raw_consumer {
 public:
  [[nodiscard]] ArrowAsyncDeviceStreamHandler* handler() { return &handler_; }

  [[nodiscard]] ArrowAsyncProducer& producer() { return *handler_.producer; }

  int code_of_schema{0};
  std::int64_t num_requested{0};  ///< requested within `on_schema`
  std::vector<ArrowAsyncTask> tasks;
  int code_of_error{0};

 private:
  static raw_consumer& of(ArrowAsyncDeviceStreamHandler* self)
  { return *static_cast<raw_consumer*>(self->private_data); }

  ArrowAsyncDeviceStreamHandler handler_{
    [](auto* self, auto* schema) {
      schema->release(schema);
      if (of(self).num_requested > 0) {
        self->producer->request(self->producer, of(self).num_requested);
      }
      return of(self).code_of_schema;
    },
    [](auto* self, auto* task, char const*) {
      if (task != nullptr) { of(self).tasks.push_back(*task); }
      return 0;
    },
    [](auto* self, int code, char const*, char const*) { of(self).code_of_error = code; },
    [](auto*) {},
    nullptr,
    this};
};

arrow::Status produce(std::vector<std::shared_ptr<arrow::RecordBatch>> batches, witness& seen)
{
  return arrow::ExportAsyncRecordBatchReader(arrow_schema(),
                                             arrow::MakeVectorGenerator(std::move(batches)),
                                             arrow::DeviceAllocationType::kCPU,
                                             seen.handler())
    .status();
}

TEST(ArrowHabits, ReportsACancelAsAnError)
{
  auto consumer          = raw_consumer{};
  consumer.num_requested = 1;
  auto seen              = witness{consumer.handler()};
  auto watch             = watchdog{};
  // The producer blocks its thread before the second batch, which is not requested.
  auto status      = arrow::Status{};
  auto const batch = arrow_batch({{number(1)}, {value{"one"}}});
  auto producer    = std::thread{[&] { status = produce({batch, batch}, seen); }};
  wait_until([&] { return seen.calls() == "st"; });
  consumer.producer().cancel(&consumer.producer());
  producer.join();
  EXPECT_TRUE(status.IsCancelled());
  EXPECT_EQ(seen.calls(), "stxr");
  EXPECT_EQ(consumer.code_of_error, EINVAL);
  auto array = unique_device_array{};
  ASSERT_EQ(consumer.tasks[0].extract_data(&consumer.tasks[0], array.get()), 0);
  EXPECT_EQ(array->array.length, 1);
}

TEST(ArrowHabits, MakesCallsAfterARejectedSchema)
{
  auto consumer           = raw_consumer{};
  consumer.code_of_schema = EINVAL;
  auto none               = witness{consumer.handler()};
  EXPECT_TRUE(produce({}, none).ok());
  EXPECT_EQ(none.calls(), "Snr");
  auto one = witness{consumer.handler()};
  EXPECT_FALSE(produce({arrow_batch({})}, one).ok());
  EXPECT_EQ(one.calls(), "Sxr");
}

TEST(ArrowHabits, ReturnsNoErrorForDataThatItCannotExport)
{
  auto consumer          = raw_consumer{};
  consumer.num_requested = 1;
  auto seen              = witness{consumer.handler()};
  EXPECT_TRUE(produce({malformed_batch()}, seen).ok());
  auto array = ArrowDeviceArray{};
  EXPECT_EQ(consumer.tasks[0].extract_data(&consumer.tasks[0], &array), 0);
  EXPECT_EQ(array.array.release, nullptr);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
