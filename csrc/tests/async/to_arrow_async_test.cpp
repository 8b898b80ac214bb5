// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of streams whose threads push them to handlers.
#include "async/reading.hpp"
#include "async/recording_handler.hpp"
#include "testing/consumer.hpp"
#include "testing/views.hpp"

#include <cudf_arrow_bridge/stream.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <thread>

namespace cudf_arrow_bridge::test {
namespace {

using namespace std::chrono_literals;
using strings = std::vector<std::string>;

constexpr auto num_rows = 25;

/// Return samples of a type in batches of `max_rows`.
std::unique_ptr<batch_source> batches(shape const& type, cudf::size_type max_rows)
{
  auto const column = std::shared_ptr<cudf::column>{make_column(type, samples(type, num_rows, 30))};
  auto const schema = cudf_arrow_bridge::make_schema(column->view(), {});
  return slices(
    column->view(), column, max_rows, {.schema = schema}, stream(), host_memory_resource());
}

stream_batch batch() { return batches(flat("int32"), num_rows)->next(); }

/// A source whose `next` is a function of the test.
class told : public batch_source {
 public:
  explicit told(std::function<stream_batch()> next) : next_{std::move(next)} {}

  stream_batch next() override { return next_(); }

 private:
  std::function<stream_batch()> next_;
};

/// Start a stream of the batches of `next`, and return its reader.
async_stream_reader start(std::function<stream_batch()> next, std::int64_t prefetch = 2)
{
  auto reader = async_stream_reader{prefetch, {}};
  to_arrow_async(device_array_stream{std::make_unique<told>(std::move(next))},
                 reader.take_handler());
  return reader;
}

/// Wait until a condition is true, for at most 20 s. @return Whether it is true
template <typename Condition>
bool comes_true(Condition const& condition)
{
  for (auto i = 0; i < 20'000 && !condition(); ++i) { std::this_thread::sleep_for(1ms); }
  return condition();
}

rows read_rows(async_stream_reader& reader, shape const& type)
{
  auto received = rows{};
  for (;;) {
    reader.wait();
    auto const found = reader.next();
    if (found->is_end()) { return received; }
    auto const part = read_arrow(found->array->array, type);
    received.insert(received.end(), part.begin(), part.end());
  }
}

class AsyncStreams : public ::testing::TestWithParam<shape> {};

std::string case_name(::testing::TestParamInfo<shape> const& info) { return info.param.name; }

TEST_P(AsyncStreams, DeliverAllRows)
{
  auto const& type = GetParam();
  for (auto const max_rows : {1, 8, 30}) {
    for (auto const prefetch : {1, 4}) {
      auto reader = async_stream_reader{prefetch, {}};
      to_arrow_async(device_array_stream{batches(type, max_rows)}, reader.take_handler());
      EXPECT_EQ(read_rows(reader, type), samples(type, num_rows, 30));
      EXPECT_EQ(reader.device_type(), ARROW_DEVICE_CPU);
      EXPECT_EQ(reader.schema().n_children, make_schema(type)->n_children);
    }
  }
}

TEST_P(AsyncStreams, DeliverAllRowsOfCStreams)
{
  auto const& type = GetParam();
  auto stream      = device_array_stream{batches(type, 8)}.to_arrow();
  auto reader      = async_stream_reader{4, {}};
  to_arrow_async(array_stream_reader{stream.get()}, reader.take_handler());
  EXPECT_TRUE(stream.is_released());
  EXPECT_EQ(read_rows(reader, type), samples(type, num_rows, 30));
}

INSTANTIATE_TEST_SUITE_P(Types, AsyncStreams, ::testing::ValuesIn(nested_shapes()), case_name);

TEST(AsyncStreams, ReportAnExceptionAfterTheEarlierBatches)
{
  for (auto const position : {0, 2}) {
    auto reader   = start([left = position]() mutable {
      if (left-- == 0) { throw stream_error{ENOENT, "no such file"}; }
      return batch();
    });
    auto expected = strings(static_cast<std::size_t>(position), std::to_string(num_rows));
    expected.emplace_back("error 2 no such file");
    EXPECT_EQ(read_all(reader), expected);
  }
}

TEST(AsyncStreams, MayBeEmpty)
{
  auto const nothing = [] { return chain([] { return std::unique_ptr<batch_source>{}; }); };
  auto const schema  = batch().schema;
  auto reader        = async_stream_reader{1, {}};
  to_arrow_async(device_array_stream{nothing(), schema}, reader.take_handler());
  EXPECT_EQ(read_all(reader), (strings{"end"}));
  EXPECT_STREQ(reader.schema().format, "i");

  auto without = async_stream_reader{1, {}};
  to_arrow_async(device_array_stream{nothing()}, without.take_handler());
  EXPECT_EQ(read_all(without).back().substr(0, 8), "error 22");
  EXPECT_THROW((void)without.schema(), async_stream_error);
}

TEST(AsyncStreams, RunManyAtOnce)
{
  auto const type = flat("int32");
  auto readers    = std::vector<async_stream_reader>{};
  for (auto i = 0; i < 200; ++i) {
    readers.emplace_back(1 + i % 3, std::function<void()>{});
    to_arrow_async(device_array_stream{batches(type, 1 + i % 5)}, readers.back().take_handler());
  }
  for (auto& each : readers) { EXPECT_EQ(read_rows(each, type), samples(type, num_rows, 30)); }
}

TEST(AsyncStreams, ReleaseTheSourceAfterACancel)
{
  auto const source  = std::make_shared<int>(0);
  auto const handler = std::make_shared<int>(0);
  auto reader        = async_stream_reader{2, [handler] {}};
  to_arrow_async(device_array_stream{std::make_unique<told>([source] { return batch(); })},
                 reader.take_handler());
  reader.wait();
  EXPECT_FALSE(reader.next()->is_end());
  EXPECT_EQ(source.use_count(), 2);
  reader.cancel();
  EXPECT_TRUE(comes_true([&] { return source.use_count() == 1 && handler.use_count() == 1; }));
  EXPECT_EQ(read_all(reader), (strings{"end"}));
}

TEST(AsyncStreams, EndWhenTheyAreStoppedAndNothingIsRequested)
{
  for (auto const is_requested : {false, true}) {
    auto handler     = recording_handler{};
    auto is_released = std::atomic<bool>{false};
    auto token       = std::shared_ptr<void>{nullptr, [&](void*) { is_released = true; }};
    if (is_requested) {
      handler.on_schema = [&](ArrowSchema*) {
        handler.request(1);
        return 0;
      };
    }
    auto const stop = to_arrow_async(device_array_stream{std::make_unique<told>(batch)},
                                     &handler.c,
                                     [token = std::move(token)] {});
    stop();
    // The callback is destroyed after the release of the handler.
    ASSERT_TRUE(comes_true([&] { return is_released.load(); }));
    auto expected = strings{"schema i -", "error 125 the source was stopped -", "release"};
    if (is_requested) { expected.insert(expected.begin() + 1, "task -"); }
    EXPECT_EQ(handler.calls, expected);
  }
}

TEST(AsyncStreams, RejectHandlersWithoutACallback)
{
  auto handler      = recording_handler{};
  handler.c.release = nullptr;
  EXPECT_THROW(to_arrow_async(device_array_stream{batches(flat("int32"), 1)}, &handler.c),
               std::invalid_argument);
  auto stream = device_array_stream{batches(flat("int32"), 1)}.to_arrow();
  EXPECT_THROW(to_arrow_async(array_stream_reader{stream.get()}, nullptr), std::invalid_argument);
  EXPECT_TRUE(handler.calls.empty());
}

/// Run an endless stream. @return The counter of its batches
std::shared_ptr<std::atomic<int>> run_endless(async_stream_reader& reader)
{
  auto num_made = std::make_shared<std::atomic<int>>(0);
  reader        = start(
    [num_made] {
      ++*num_made;
      return batch();
    },
    1'000'000'000);
  while (*num_made < 10) { std::this_thread::sleep_for(1ms); }
  return num_made;
}

[[noreturn]] void stop_an_endless_stream()
{
  auto reader         = async_stream_reader{};
  auto const num_made = run_endless(reader);
  stop_async();
  auto const at_stop = num_made->load();
  std::this_thread::sleep_for(20ms);
  auto late = start(batch);
  std::this_thread::sleep_for(20ms);
  _exit(num_made->load() == at_stop && !late.is_ready() ? 0 : 1);
}

[[noreturn]] void exit_with_an_endless_stream()
{
  static auto num_made = std::shared_ptr<std::atomic<int>>{};
  // Registered before the stream starts, so it runs after the stream is stopped.
  std::atexit([] {
    auto const at_stop = num_made->load();
    std::this_thread::sleep_for(20ms);
    if (num_made->load() != at_stop) { _exit(1); }
  });
  auto reader = async_stream_reader{};
  num_made    = run_endless(reader);
  std::exit(0);
}

[[noreturn]] void count_the_threads_of_a_stream()
{
  auto const num_threads = [] {
    return std::distance(std::filesystem::directory_iterator{"/proc/self/task"}, {});
  };
  // ThreadSanitizer starts a thread of its own with the first thread.
  std::thread{[] {}}.join();
  auto const before   = num_threads();
  auto reader         = async_stream_reader{};
  auto const num_made = run_endless(reader);
  while (*num_made < 500) { std::this_thread::sleep_for(1ms); }
  _exit(static_cast<int>(num_threads() - before));
}

[[noreturn]] void exit_from_a_source()
{
  auto reader = start([]() -> stream_batch { std::exit(0); });
  reader.wait();
  _exit(1);
}

TEST(AsyncStreamsAtExit, AreStopped)
{
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(stop_an_endless_stream(), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(exit_with_an_endless_stream(), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(exit_from_a_source(), ::testing::ExitedWithCode(0), "");
}

TEST(AsyncStreamsAtExit, OneStreamUsesOneThread)
{
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(count_the_threads_of_a_stream(), ::testing::ExitedWithCode(1), "");
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
