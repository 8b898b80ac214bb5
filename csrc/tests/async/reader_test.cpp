// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the reader with producers that follow the protocol.
#include "async/reading.hpp"
#include "async/recording_handler.hpp"
#include "async/stand_in_producer.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <tuple>

namespace cudf_arrow_bridge::test {
namespace {

using strings = std::vector<std::string>;

/// A reader, and the producer that has its handler.
class Readers : public ::testing::Test {
 protected:
  Readers() { producer.handler = reader.take_handler(); }

  stand_in_producer producer;
  int num_notices{0};
  async_stream_reader reader{2, [this] { ++num_notices; }};
};

TEST_F(Readers, ReturnArraysInOrder)
{
  EXPECT_FALSE(reader.has_schema());
  EXPECT_THROW((void)reader.schema(), std::logic_error);
  EXPECT_EQ(read_ready(reader), (strings{"wait"}));
  auto const metadata            = encoded("key", "of the stream");
  producer.c.additional_metadata = metadata.data();
  EXPECT_EQ(producer.open(), 0);
  EXPECT_TRUE(reader.has_schema());
  EXPECT_STREQ(reader.schema().format, "i");
  EXPECT_EQ(reader.device_type(), ARROW_DEVICE_CPU);
  EXPECT_EQ(decoded(reader.metadata().data()), "of the stream");
  EXPECT_FALSE(reader.is_ready());
  EXPECT_EQ(producer.calls, (strings{"request 2"}));

  EXPECT_EQ(producer.give({}, encoded("key", "of the first").data()), 0);
  EXPECT_EQ(producer.give(), 0);
  EXPECT_TRUE(reader.is_ready());
  EXPECT_EQ(producer.calls.size(), 1);
  auto const first = reader.next();
  EXPECT_EQ(producer.calls, (strings{"request 2", "request 1"}));
  EXPECT_EQ(decoded(first->metadata.data()), "of the first");
  EXPECT_EQ(first->array->array.length, 0);
  auto const second = reader.next();
  EXPECT_EQ(second->metadata, "");
  EXPECT_EQ(second->array->array.length, 1);
  EXPECT_FALSE(reader.next().has_value());
  EXPECT_EQ(producer.end(), 0);
  EXPECT_TRUE(reader.is_ready());
  producer.release();
  EXPECT_EQ(read_ready(reader), (strings{"end"}));
  EXPECT_EQ(read_ready(reader), (strings{"end"}));
  EXPECT_STREQ(reader.schema().format, "i");
  EXPECT_EQ(producer.num_cancels(), 0);
}

TEST_F(Readers, RequestNothingAfterTheEnd)
{
  producer.open();
  producer.give();
  producer.give();
  producer.end();
  EXPECT_EQ(read_ready(reader), (strings{"0", "1", "end"}));
  EXPECT_EQ(producer.calls, (strings{"request 2"}));
  producer.release();
}

TEST_F(Readers, RequestTheNextArrayBeforeExtractingATask)
{
  producer.open();
  producer.give({.before = [this] { producer.calls.emplace_back("extract"); }});
  (void)reader.next();
  EXPECT_EQ(producer.calls, (strings{"request 2", "request 1", "extract"}));
}

TEST_F(Readers, CancelBeforeDroppingTasks)
{
  producer.open();
  producer.give({.before = [this] { producer.calls.emplace_back("extract"); }});
  reader.cancel();
  EXPECT_EQ(producer.calls, (strings{"request 2", "cancel", "extract"}));
  producer.release();
}

TEST_F(Readers, RejectASchemaAfterACancel)
{
  reader.cancel();
  EXPECT_EQ(producer.open(), ECANCELED);
  // Arrow C++ makes these calls after on_schema fails.
  producer.fail(EINVAL, "Received error from handler::on_schema 1");
  producer.release();
  EXPECT_EQ(read_ready(reader), (strings{"end"}));
  EXPECT_EQ(producer.calls, strings{});
}

TEST_F(Readers, ReportErrorsAfterTheEarlierArrays)
{
  producer.open();
  producer.give();
  producer.give();
  producer.fail(ENOSPC, "the disk is full", encoded("key", "which").data());
  producer.release();
  (void)reader.next();
  (void)reader.next();
  for (auto i = 0; i < 2; ++i) {
    try {
      (void)reader.next();
      ADD_FAILURE();
    } catch (async_stream_error const& error) {
      EXPECT_EQ(error.code(), ENOSPC);
      EXPECT_STREQ(error.what(), "the disk is full");
      EXPECT_EQ(decoded(error.metadata().data()), "which");
    }
  }
  EXPECT_EQ(producer.calls, (strings{"request 2"}));
}

TEST_F(Readers, ReportErrorsWithReadableMessages)
{
  auto const* unnamed = std::strerror(ENOSPC);
  for (auto const& [code, message, expected] :
       {std::tuple{ENOSPC, "the disk is gone", "the disk is gone"},
        {ENOSPC, nullptr, unnamed},
        {ENOSPC, "", unnamed},
        {0, nullptr, static_cast<char const*>(std::strerror(EIO))},
        {ENOSPC, "\xe9t\xe9", "\\xe9t\\xe9"}}) {
    auto failed = async_stream_reader{1, {}};
    auto source = stand_in_producer{failed.take_handler()};
    source.fail(code, message);
    EXPECT_TRUE(failed.has_schema());
    EXPECT_TRUE(failed.is_ready());
    EXPECT_THROW((void)failed.schema(), async_stream_error);
    source.release();
    EXPECT_EQ(read_ready(failed).back(),
              "error " + std::to_string(code == 0 ? EIO : code) + " " + expected);
  }
}

TEST_F(Readers, NotifyOfEachEvent)
{
  producer.open();
  EXPECT_EQ(num_notices, 1);
  producer.give();
  EXPECT_EQ(num_notices, 2);
  producer.give();
  EXPECT_EQ(num_notices, 3);
  producer.end();
  EXPECT_EQ(num_notices, 4);
  producer.release();
  auto failed  = 0;
  auto other   = async_stream_reader{1, [&] { ++failed; }};
  auto failing = stand_in_producer{other.take_handler()};
  failing.fail(EIO, "boom");
  EXPECT_EQ(failed, 1);
  failing.release();
}

TEST_F(Readers, NotifyOfACancelAndOfAReleaseWithoutAnEnd)
{
  for (auto const cancels : {true, false}) {
    auto ready = false;
    async_stream_reader other{1, [&] { ready = other.is_ready(); }};
    auto source = stand_in_producer{other.take_handler()};
    source.open();
    EXPECT_FALSE(ready);
    if (cancels) { other.cancel(); }
    if (!cancels) { source.release(); }
    EXPECT_TRUE(ready);
    if (cancels) { source.release(); }
  }
}

TEST_F(Readers, KeepTheCallbackUntilTheRelease)
{
  for (auto const how : {0, 1, 2}) {
    auto const token = std::make_shared<int>(0);
    auto other       = async_stream_reader{1, [token] {}};
    auto source      = stand_in_producer{other.take_handler()};
    source.open();
    if (how == 0) { source.end(); }
    if (how == 1) { source.fail(EIO, "boom"); }
    if (how == 2) { other.cancel(); }
    EXPECT_EQ(token.use_count(), 2);
    source.release();
    EXPECT_EQ(token.use_count(), 1);
    (void)read_ready(other);
  }
}

TEST_F(Readers, MayBeOwnedByTheirCallback)
{
  auto owned         = std::make_shared<async_stream_reader>();
  auto* const inside = owned.get();
  *owned             = async_stream_reader{1, [owned] {}};
  auto source        = stand_in_producer{inside->take_handler()};
  owned.reset();
  source.open();
  source.end();
  source.release();
}

TEST_F(Readers, FailAndReleaseTheCallbackWhenAbandoned)
{
  auto const token = std::make_shared<int>(0);
  {
    auto other = async_stream_reader{1, [token] {}};
    (void)other.take_handler();
    other.abandon();
    EXPECT_EQ(token.use_count(), 1);
    EXPECT_EQ(read_ready(other).back().substr(0, 8), "error 71");
  }
  {
    auto const never_taken = async_stream_reader{1, [token] {}};
  }
  EXPECT_EQ(token.use_count(), 1);
}

TEST_F(Readers, IgnoreAbandonWithoutALiveHandler)
{
  auto other = async_stream_reader{1, {}};
  other.abandon();
  EXPECT_FALSE(other.is_ready());
  auto source = stand_in_producer{other.take_handler()};
  source.open();
  source.end();
  source.release();
  other.abandon();
  EXPECT_EQ(read_ready(other), (strings{"end"}));
}

TEST_F(Readers, DoNotCallProducersOfTheParentProcess)
{
  producer.open();
  auto const child = fork();
  if (child == 0) {
    reader.cancel();
    _exit(static_cast<int>(producer.num_cancels()));
  }
  auto status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(Readers, ReturnOnlyOneHandler)
{
  EXPECT_THROW((void)reader.take_handler(), std::logic_error);
  producer.release();
  EXPECT_THROW((void)reader.take_handler(), std::logic_error);
}

TEST_F(Readers, RequireAPositivePrefetch)
{
  EXPECT_THROW((async_stream_reader{0, {}}), std::invalid_argument);
  EXPECT_THROW((async_stream_reader{-1, {}}), std::invalid_argument);
}

TEST_F(Readers, MayBeMoved)
{
  producer.open();
  auto moved = std::move(reader);
  producer.give();
  EXPECT_EQ(read_ready(moved), (strings{"0", "wait"}));
  EXPECT_EQ(producer.num_cancels(), 0);
  auto& same = moved;
  moved      = std::move(same);
  EXPECT_EQ(producer.num_cancels(), 0);
  moved = async_stream_reader{};
  EXPECT_EQ(producer.num_cancels(), 1);
  producer.release();
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
