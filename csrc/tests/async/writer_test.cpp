// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the writer with consumers that record their calls.
#include "async/counted_arrays.hpp"
#include "async/recording_handler.hpp"
#include "async/stream_writer.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <limits>
#include <memory>

namespace cudf_arrow_bridge::test {
namespace {

using strings = std::vector<std::string>;

using detail::stream_writer;

/// A writer, its consumer, and the number of calls of the writer's callback.
class Writers : public ::testing::Test {
 protected:
  ~Writers() override { writer.finish(); }

  bool open() { return writer.open(make_schema(flat("int32")), ARROW_DEVICE_CPU); }

  bool write() { return writer.write(arrays.make()); }

  counted_arrays arrays;
  std::vector<ArrowAsyncTask> kept;
  recording_handler consumer;
  int num_cancels{0};
  std::shared_ptr<stream_writer> owner{
    std::make_shared<stream_writer>(&consumer.c, [this] { ++num_cancels; })};
  stream_writer& writer{*owner};
};

TEST_F(Writers, CallTheConsumerInOrder)
{
  EXPECT_TRUE(open());
  EXPECT_EQ(consumer.c.producer->device_type, ARROW_DEVICE_CPU);
  EXPECT_EQ(writer.num_wanted(), 0);
  consumer.request(2);
  EXPECT_EQ(writer.num_wanted(), 2);
  EXPECT_TRUE(write());
  EXPECT_TRUE(write());
  EXPECT_EQ(writer.num_wanted(), 0);
  EXPECT_FALSE(writer.is_over());
  writer.finish();
  EXPECT_TRUE(writer.is_over());
  EXPECT_EQ(consumer.calls, (strings{"schema i -", "task -", "task -", "end", "release"}));
  EXPECT_TRUE(consumer.has_producer);
  EXPECT_EQ(num_cancels, 0);
}

TEST_F(Writers, ReleaseASchemaThatTheConsumerDoesNotTake)
{
  static auto num_releases = 0;
  num_releases             = 0;
  auto schema              = unique_schema{};
  schema->format           = "i";
  schema->release          = [](ArrowSchema* s) {
    ++num_releases;
    s->release = nullptr;
  };
  EXPECT_TRUE(writer.open(std::move(schema), ARROW_DEVICE_CPU));
  EXPECT_EQ(num_releases, 1);
}

TEST_F(Writers, OnlyReleaseAConsumerThatRejectsTheSchema)
{
  consumer.on_schema = [this](ArrowSchema* /*schema*/) {
    consumer.request(3);
    return EINVAL;
  };
  EXPECT_FALSE(open());
  EXPECT_TRUE(writer.is_over());
  EXPECT_EQ(writer.num_wanted(), 0);
  EXPECT_FALSE(write());
  writer.finish();
  writer.fail(EIO, "late");
  EXPECT_EQ(consumer.calls, (strings{"schema i -", "release"}));
  EXPECT_EQ(arrays.num_releases(0), 1);
}

TEST_F(Writers, OnlyReleaseAConsumerThatRejectsATask)
{
  consumer.on_task = [](ArrowAsyncTask& /*task*/) { return ENOSPC; };
  open();
  consumer.request(3);
  EXPECT_FALSE(write());
  EXPECT_EQ(arrays.num_releases(0), 1);
  EXPECT_FALSE(write());
  writer.finish();
  EXPECT_EQ(consumer.calls, (strings{"schema i -", "task -", "release"}));
}

TEST_F(Writers, DoNotReleaseAnArrayTakenFromARejectedTask)
{
  auto taken       = unique_device_array{};
  consumer.on_task = [&](ArrowAsyncTask& task) {
    taken = recording_handler::extract(task);
    return ENOSPC;
  };
  open();
  consumer.request(1);
  EXPECT_FALSE(write());
  EXPECT_EQ(arrays.num_releases(0), 0);
  taken.reset();
  EXPECT_EQ(arrays.num_releases(0), 1);
}

TEST_F(Writers, ReleaseARejectedArrayWhileAnotherIsExtracted)
{
  consumer.on_task = [this](ArrowAsyncTask& task) {
    if (kept.empty()) {
      kept.push_back(task);
      return 0;
    }
    (void)recording_handler::extract(kept[0]);
    return ENOSPC;
  };
  open();
  consumer.request(2);
  EXPECT_TRUE(write());
  EXPECT_FALSE(write());
  EXPECT_EQ(arrays.num_releases(0), 1);
  EXPECT_EQ(arrays.num_releases(1), 1);
}

TEST_F(Writers, ReleaseAnArrayExtractedToNull)
{
  consumer.on_task = [](ArrowAsyncTask& task) { return task.extract_data(&task, nullptr); };
  open();
  consumer.request(1);
  EXPECT_TRUE(write());
  EXPECT_EQ(arrays.num_releases(0), 1);
}

TEST_F(Writers, WriteNoArraysOfAnotherDeviceType)
{
  open();
  consumer.request(1);
  auto array         = arrays.make();
  array->device_type = ARROW_DEVICE_CUDA;
  EXPECT_THROW(writer.write(std::move(array)), std::invalid_argument);
  EXPECT_EQ(arrays.num_releases(0), 1);
  EXPECT_TRUE(write());
}

TEST_F(Writers, WriteNoMoreArraysThanRequested)
{
  open();
  EXPECT_THROW(write(), std::logic_error);
  consumer.request(1);
  EXPECT_TRUE(write());
  EXPECT_THROW(write(), std::logic_error);
  EXPECT_EQ(arrays.num_releases(2), 1);
  consumer.request(2);
  consumer.request(3);
  EXPECT_EQ(writer.num_wanted(), 5);
  EXPECT_EQ(consumer.calls, (strings{"schema i -", "task -"}));
}

TEST_F(Writers, FailAfterARequestForLessThanOneArray)
{
  for (auto const count : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN}) {
    auto handler = recording_handler{};
    auto failing = std::make_shared<stream_writer>(&handler.c, nullptr);
    failing->open(make_schema(flat("int32")), ARROW_DEVICE_CPU);
    handler.request(count);
    EXPECT_EQ(handler.calls, (strings{"schema i -"})) << "reported within the request";
    EXPECT_GT(failing->num_wanted(), 0) << "the owner is not told that there is something to do";
    EXPECT_FALSE(failing->write(arrays.make()));
    EXPECT_EQ(
      handler.calls,
      (strings{"schema i -", "error 22 the consumer requested fewer than one array -", "release"}));
  }
}

TEST_F(Writers, FailOnFinishAfterANegativeRequest)
{
  open();
  consumer.request(1);
  consumer.request(-1);
  EXPECT_EQ(writer.num_wanted(), 1);
  writer.finish();
  EXPECT_EQ(
    consumer.calls,
    (strings{"schema i -", "error 22 the consumer requested fewer than one array -", "release"}));
}

TEST_F(Writers, IgnoreRequestsAfterACancel)
{
  open();
  consumer.request(-1);
  consumer.cancel();
  consumer.cancel();
  consumer.request(5);
  EXPECT_EQ(num_cancels, 1);
  EXPECT_TRUE(writer.is_over());
  EXPECT_EQ(writer.num_wanted(), 0);
  EXPECT_FALSE(write());
  EXPECT_EQ(consumer.calls, (strings{"schema i -", "release"}));
}

TEST_F(Writers, LimitTheSumOfHugeRequests)
{
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  open();
  consumer.request(most);
  EXPECT_EQ(writer.num_wanted(), most);
  consumer.request(most);
  consumer.request(1);
  EXPECT_EQ(writer.num_wanted(), most);
  EXPECT_TRUE(write());
  EXPECT_EQ(writer.num_wanted(), most - 1);
}

TEST_F(Writers, ReportOnlyTheFirstError)
{
  open();
  writer.fail(ENOENT, "no such file");
  writer.fail(EIO, "again");
  writer.finish();
  EXPECT_EQ(consumer.calls, (strings{"schema i -", "error 2 no such file -", "release"}));
  EXPECT_TRUE(consumer.has_producer);
}

TEST_F(Writers, ReportErrorsBeforeTheSchema)
{
  writer.fail(ENOENT, "no such file");
  EXPECT_FALSE(open()) << "the handler was released";
  EXPECT_EQ(consumer.calls, (strings{"error 2 no such file -", "release"}));
  EXPECT_TRUE(consumer.has_producer);
}

TEST_F(Writers, ReleaseTheirCallbackBeforeTheLastTaskIsExtracted)
{
  auto const token = std::make_shared<int>(0);
  auto handler     = recording_handler{};
  handler.on_task  = [this](ArrowAsyncTask& task) {
    kept.push_back(task);
    return 0;
  };
  auto other = std::make_shared<stream_writer>(&handler.c, [token] {});
  other->open(make_schema(flat("int32")), ARROW_DEVICE_CPU);
  handler.request(1);
  other->write(arrays.make());
  EXPECT_EQ(token.use_count(), 2);
  other->finish();
  EXPECT_EQ(token.use_count(), 1);
  other.reset();
  // Arrow C++ also requests the next array before it extracts the last one.
  handler.request(1);
  handler.cancel();
  EXPECT_FALSE(recording_handler::extract(kept[0]).is_released());
}

TEST_F(Writers, GiveBackAHandlerThatTheyDidNotCall)
{
  auto handler = recording_handler{};
  std::make_shared<stream_writer>(&handler.c, nullptr).reset();
  EXPECT_EQ(handler.c.producer, nullptr);
  EXPECT_TRUE(handler.calls.empty());
}

TEST_F(Writers, RejectHandlersWithoutACallback)
{
  EXPECT_THROW((stream_writer{nullptr, {}}), std::invalid_argument);
  for (auto const missing : {0, 1, 2, 3}) {
    auto handler = recording_handler{};
    if (missing == 0) { handler.c.on_schema = nullptr; }
    if (missing == 1) { handler.c.on_next_task = nullptr; }
    if (missing == 2) { handler.c.on_error = nullptr; }
    if (missing == 3) { handler.c.release = nullptr; }
    EXPECT_THROW((stream_writer{&handler.c, {}}), std::invalid_argument);
    EXPECT_TRUE(handler.calls.empty());
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
