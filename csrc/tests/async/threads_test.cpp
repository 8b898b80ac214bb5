// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of a writer and a reader on two threads, with a cancel from a third thread.
#include "async/checking_link.hpp"
#include "async/counted_arrays.hpp"
#include "async/stream_writer.hpp"
#include "testing/arrow_schema.hpp"

#include <cudf_arrow_bridge/async.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <random>
#include <string>
#include <thread>

namespace cudf_arrow_bridge::test {
namespace {

constexpr auto num_races = 1'000U;

/// The parameters of a run, from its seed.
struct plan {
  explicit plan(unsigned seed)
  {
    auto random = std::mt19937{seed};
    prefetch    = static_cast<int>(1 + random() % 4);
    num_arrays  = static_cast<int>(random() % 20);
    ending      = static_cast<int>(random() % 4);
    yields      = random() % 2 == 0 ? static_cast<int>(random() % 200) : -1;
  }

  int prefetch;
  int num_arrays;
  int ending;  ///< 0: finish, 1 and 2: fail, 3: fail before the schema
  int yields;  ///< yields before the cancel; -1: no cancel
};

void produce(ArrowAsyncDeviceStreamHandler* handler, counted_arrays& arrays, plan const& todo)
{
  // May run while the writer closes the stream.
  auto const num_calls = std::make_shared<std::atomic<int>>(0);
  auto writer = std::make_shared<detail::stream_writer>(handler, [num_calls] { ++*num_calls; });
  if (todo.ending == 3) { return writer->fail(EIO, "boom"); }
  if (!writer->open(make_schema(flat("int32")), ARROW_DEVICE_CPU)) { return; }
  for (auto i = 0; i < todo.num_arrays; ++i) {
    writer->wait();
    // A writer that was cancelled in the meantime accepts no more arrays.
    if (writer->is_over() || !writer->write(arrays.make())) { break; }
  }
  if (todo.ending == 0) { return writer->finish(); }
  writer->fail(EIO, "boom");
}

void consume(async_stream_reader& reader, plan const& todo)
{
  auto num_read = std::int64_t{0};
  try {
    for (;;) {
      reader.wait();
      auto const batch = reader.next();
      ASSERT_TRUE(batch.has_value());
      if (batch->is_end()) { break; }
      EXPECT_EQ(batch->array->array.length, num_read++);
    }
    EXPECT_TRUE(todo.yields >= 0 || todo.ending == 0);
    if (todo.yields < 0) { EXPECT_EQ(num_read, todo.num_arrays); }
  } catch (async_stream_error const& error) {
    EXPECT_EQ(error.code(), EIO);
    EXPECT_NE(todo.ending, 0);
    if (todo.ending != 3) { EXPECT_EQ(num_read, todo.num_arrays); }
  }
}

void go(plan const& todo)
{
  auto arrays = counted_arrays{20};
  auto reader = async_stream_reader{todo.prefetch, [] {}};
  auto link   = checking_link{reader.take_handler(), todo.prefetch, [] {}};
  auto ends   = std::thread{[&] { produce(link.handler(), arrays, todo); }};
  auto reads  = std::thread{[&] { consume(reader, todo); }};
  for (auto i = 0; i < todo.yields; ++i) {
    if (reader.has_schema()) { (void)reader.device_type(); }
    (void)reader.metadata();
    std::this_thread::yield();
  }
  if (todo.yields >= 0) { reader.cancel(); }
  ends.join();
  reads.join();
}

TEST(AsyncThreads, FollowTheProtocol)
{
  for (auto seed = 0U; seed < num_races && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    go(plan{seed});
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
