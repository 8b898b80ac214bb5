// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the reader with producers that break the protocol, or call it within its own calls.
#include "async/reading.hpp"
#include "async/stand_in_producer.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

namespace cudf_arrow_bridge::test {
namespace {

using strings = std::vector<std::string>;

class BadProducers : public ::testing::Test {
 protected:
  BadProducers() { producer.handler = reader.take_handler(); }

  stand_in_producer producer;
  int num_notices{0};
  async_stream_reader reader{2, [this] { ++num_notices; }};
};

/// Calls of a producer, before its release, and the items that the reader then returns.
struct script {
  char const* name;
  void (*run)(stand_in_producer&);
  strings expected;
};

std::string const more_arrays = "error 71 more arrays than were requested";

auto const scripts = std::vector<script>{
  {"a second schema",
   [](auto& producer) {
     producer.open();
     producer.give();
     EXPECT_EQ(producer.open(), EPROTO);
     EXPECT_EQ(producer.calls, (strings{"request 2"}));
   },
   {"0", "error 71 on_schema was called again, or after the end"}},
  {"an array before the schema",
   [](auto& producer) { EXPECT_EQ(producer.give(), EPROTO); },
   {more_arrays}},
  {"a task without a callback",
   [](auto& producer) {
     producer.open();
     auto given = ArrowAsyncTask{};
     EXPECT_EQ(producer.handler->on_next_task(producer.handler, &given, nullptr), EPROTO);
   },
   {"error 71 on_next_task: the task has no extract_data"}},
  {"an end before the schema",
   [](auto& producer) { EXPECT_EQ(producer.end(), 0); },
   {"error 71 the stream ended before its schema"}},
  {"more arrays than requested",
   [](auto& producer) {
     producer.open();
     producer.give();
     producer.give();
     EXPECT_EQ(producer.give(), EPROTO);
   },
   {"0", "1", more_arrays}},
  {"ends and errors after the end",
   [](auto& producer) {
     producer.open();
     producer.end();
     producer.end();
     producer.fail(EIO, "too late");
   },
   {"end"}},
  {"calls after an error",
   [](auto& producer) {
     producer.open();
     producer.fail(ENOSPC, "first");
     producer.fail(EIO, "second");
     EXPECT_EQ(producer.give(), 0);
     producer.end();
   },
   {"error 28 first"}},
  {"only a release",
   [](auto& /*producer*/) {},
   {"error 71 the producer released the handler before the end of the stream"}}};

TEST(BadScripts, EndInTheExpectedErrors)
{
  for (auto const& [name, run, expected] : scripts) {
    SCOPED_TRACE(name);
    auto reader   = async_stream_reader{2, {}};
    auto producer = stand_in_producer{reader.take_handler()};
    run(producer);
    producer.release();
    EXPECT_EQ(read_ready(reader), expected);
  }
}

TEST_F(BadProducers, CallsAfterAFailureOfTheOwnerAreIgnored)
{
  reader.fail(EINVAL, "the plan is invalid");
  EXPECT_NE(producer.open(), 0);
  producer.give();
  producer.release();
  EXPECT_EQ(read_ready(reader), (strings{"error 22 the plan is invalid"}));
}

TEST_F(BadProducers, CallsAfterARejectedSchemaAreIgnored)
{
  for (auto const how : {0, 1, 2}) {
    auto refusing    = async_stream_reader{1, {}};
    auto source      = stand_in_producer{refusing.take_handler()};
    source.c.request = nullptr;
    EXPECT_EQ(source.open(), EPROTO);
    if (how == 0) { source.end(); }
    if (how == 1) { source.fail(EINVAL, "Received error from handler::on_schema 1"); }
    if (how == 2) { source.give(); }
    source.release();
    EXPECT_EQ(read_ready(refusing),
              (strings{"error 71 on_schema: the handler has no producer, or the producer lacks a "
                       "callback"}));
    EXPECT_THROW((void)refusing.schema(), async_stream_error);
  }
}

TEST_F(BadProducers, MissingCallbacksAreErrors)
{
  producer.c.cancel = nullptr;
  EXPECT_EQ(producer.open(), EPROTO);
  producer.release();
  auto without        = async_stream_reader{1, {}};
  auto schema         = make_schema(flat("int32"));
  auto* const handler = without.take_handler();
  EXPECT_EQ(handler->on_schema(handler, schema.get()), EPROTO);
  EXPECT_TRUE(schema.is_released()) << "the consumer owns a rejected schema, too";
  handler->release(handler);
  EXPECT_EQ(read_ready(without).back().substr(0, 8), "error 71");
}

TEST_F(BadProducers, MissingSchemasAreErrors)
{
  auto released              = ArrowSchema{};
  producer.handler->producer = &producer.c;
  EXPECT_EQ(producer.handler->on_schema(producer.handler, &released), EPROTO);
  producer.release();
  EXPECT_EQ(read_ready(reader), (strings{"error 71 on_schema: the schema is released"}));

  auto other               = async_stream_reader{1, {}};
  auto nobody              = stand_in_producer{other.take_handler()};
  nobody.handler->producer = &nobody.c;
  EXPECT_EQ(nobody.handler->on_schema(nobody.handler, nullptr), EPROTO);
  nobody.release();
}

TEST_F(BadProducers, ArraysOfAnotherDeviceTypeAreErrors)
{
  producer.c.device_type = ARROW_DEVICE_CUDA_HOST;
  producer.open();
  producer.give();
  EXPECT_EQ(read_ready(reader),
            (strings{"error 71 expected arrays of device type 3 as of the producer, got device "
                     "type 1"}));
  EXPECT_EQ(producer.num_cancels(), 1);
}

TEST_F(BadProducers, ArraysAfterTheEndAreErrors)
{
  producer.open();
  producer.give();
  producer.end();
  auto const before = num_notices;
  EXPECT_EQ(producer.give(), 0);
  EXPECT_EQ(num_notices, before + 1);
  producer.release();
  EXPECT_EQ(read_ready(reader),
            (strings{"0", "error 71 the producer sent an array after the end of the stream"}));
  EXPECT_EQ(producer.arrays.num_made(), 1);
}

TEST_F(BadProducers, TasksWithoutAnArrayAreErrors)
{
  producer.open();
  producer.give({.has_array = false});
  producer.give();
  for (auto i = 0; i < 2; ++i) {
    EXPECT_EQ(read_ready(reader), (strings{"error 5 the task has no array"}));
  }
  EXPECT_EQ(producer.num_cancels(), 1);
  EXPECT_EQ(producer.give(), 0);
  producer.fail(EINVAL, "what Arrow C++ says later");
  producer.release();
  reader.cancel();
  EXPECT_EQ(producer.num_cancels(), 1);
}

TEST_F(BadProducers, TheArrayOfAFailedExtractionIsNotReleased)
{
  static auto num_releases = 0;
  num_releases             = 0;
  auto schema              = make_schema(flat("int32"));
  auto failing             = async_stream_reader{1, {}};
  auto* const handler      = failing.take_handler();
  handler->producer        = &producer.c;
  EXPECT_EQ(handler->on_schema(handler, schema.get()), 0);
  auto task = ArrowAsyncTask{[](ArrowAsyncTask*, ArrowDeviceArray* out) {
                               out->array.release = [](ArrowArray*) { ++num_releases; };
                               return EIO;
                             },
                             nullptr};
  EXPECT_EQ(handler->on_next_task(handler, &task, nullptr), 0);
  EXPECT_EQ(read_ready(failing), (strings{std::string{"error 5 "} + std::strerror(EIO)}));
  EXPECT_EQ(num_releases, 0) << "the array of a call that failed is the producer's";
  handler->release(handler);
}

TEST_F(BadProducers, AnErrorReportedDuringAFailedExtractionIsKept)
{
  producer.open();
  producer.give({.code = ENOSPC, .has_array = false, .before = [this] {
                   producer.fail(ENOSPC, "the disk is full");
                 }});
  EXPECT_EQ(read_ready(reader), (strings{"error 28 the disk is full"}));
  EXPECT_EQ(producer.num_cancels(), 0) << "the stream had failed before";
  producer.release();
}

TEST_F(BadProducers, AFailedExtractionAfterTheEndIsReported)
{
  producer.open();
  producer.give({.code = EIO, .has_array = false});
  producer.give();
  producer.end();
  producer.release();
  for (auto i = 0; i < 2; ++i) {
    EXPECT_EQ(read_ready(reader), (strings{std::string{"error 5 "} + std::strerror(EIO)}));
  }
  EXPECT_EQ(producer.num_cancels(), 0);
}

TEST_F(BadProducers, MayReleaseWithinACancel)
{
  producer.on_cancel = [this] { producer.release(); };
  producer.open();
  producer.give();
  reader.cancel();
  EXPECT_EQ(read_ready(reader), (strings{"end"}));
}

TEST_F(BadProducers, MayReleaseWithinARequest)
{
  producer.on_request = [this](std::int64_t n) {
    if (n == 1) { producer.release(); }
  };
  producer.open();
  producer.give();
  EXPECT_EQ(read_ready(reader)[0], "0");
  EXPECT_EQ(producer.num_cancels(), 0);
}

TEST_F(BadProducers, MaySendArraysWithinARequestWhileTheReaderIsDestroyed)
{
  auto own          = std::unique_ptr<async_stream_reader>{};
  own               = std::make_unique<async_stream_reader>(2, [&own] { own.reset(); });
  auto source       = stand_in_producer{own->take_handler()};
  source.on_request = [&](std::int64_t /*n*/) { source.give(); };
  source.on_cancel  = [&] { source.release(); };
  EXPECT_EQ(source.open(), 0);
  EXPECT_EQ(source.calls, (strings{"request 2", "cancel"}));
}

/// Release a handler on another thread while its reader is in a call of the producer. The producer
/// clears its struct as soon as its handler is released.
template <typename Call, typename Release>
void release_within(Call const& call, Release const& release)
{
  auto reader    = async_stream_reader{2, [] {}};
  auto producer  = std::make_unique<stand_in_producer>(reader.take_handler());
  auto is_called = std::atomic<bool>{false};
  auto is_gone   = std::atomic<bool>{false};
  auto releasing = std::thread{};
  auto const go  = [&] {
    if (is_called.exchange(true)) { return; }
    releasing = std::thread{[&] {
      release(*producer);
      is_gone = true;
    }};
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    EXPECT_FALSE(is_gone) << "released while it is called";
  };
  producer->open();
  producer->give();
  producer->on_request = [&](std::int64_t /*n*/) { go(); };
  producer->on_cancel  = go;
  call(reader);
  releasing.join();
  EXPECT_TRUE(is_gone);
}

TEST(ReadersInCalls, KeepTheProducerUntilARequestReturns)
{
  release_within([](async_stream_reader& reader) { (void)reader.next(); },
                 [](stand_in_producer& producer) { producer.release(); });
}

TEST(ReadersInCalls, KeepTheProducerIfTheReleasingThreadIsInAnotherCall)
{
  release_within([](async_stream_reader& reader) { reader.cancel(); },
                 [](stand_in_producer& producer) {
                   auto other  = async_stream_reader{1, {}};
                   auto source = stand_in_producer{other.take_handler()};
                   // This thread is in a call of another producer.
                   source.on_request = [&](std::int64_t /*n*/) { producer.release(); };
                   source.open();
                 });
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
