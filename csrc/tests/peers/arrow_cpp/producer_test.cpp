// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of `async_stream_reader` with Arrow C++ as the producer.
#include "peers/arrow_cpp/batches.hpp"
#include "peers/arrow_cpp/trials.hpp"
#include "peers/arrow_cpp/witness.hpp"

#include <cudf_arrow_bridge/async.hpp>

#include <arrow/c/bridge.h>
#include <arrow/util/async_generator.h>
#include <arrow/util/thread_pool.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

using batch_generator = arrow::AsyncGenerator<std::shared_ptr<arrow::RecordBatch>>;
using arrow_batches   = std::vector<std::shared_ptr<arrow::RecordBatch>>;

/// Whether generators may end. They wait until it is true.
using permission = std::shared_ptr<std::atomic<bool>>;

permission granted() { return std::make_shared<std::atomic<bool>>(true); }

/// Return a generator that makes batches on threads of a pool, or on the calling thread.
batch_generator generate(arrow_batches batches,
                         arrow::Status end,
                         permission may_end,
                         arrow::internal::Executor& pool,
                         engine& random)
{
  auto const fails = !end.ok();
  if (!fails && *may_end && random() % 3 == 0) {
    return arrow::MakeVectorGenerator(std::move(batches));
  }
  auto all = arrow::MakeFunctionIterator(
    [batches  = std::move(batches),
     end      = std::move(end),
     may_end  = std::move(may_end),
     random   = engine{static_cast<unsigned>(random())},
     position = std::size_t{0}]() mutable -> arrow::Result<std::shared_ptr<arrow::RecordBatch>> {
      dawdle(static_cast<unsigned>(random()));
      // Move the batch out: the test checks that each batch is released.
      if (position < batches.size()) { return std::move(batches[position++]); }
      may_end->wait(false);
      if (!end.ok()) { return std::exchange(end, arrow::Status::OK()); }
      return nullptr;
    });
  if (random() % 2 == 0) { return arrow::MakeBlockingGenerator(std::move(all)).ValueOrDie(); }
  // A background generator drops its ready batches after an error.
  if (fails) {
    auto blocking = arrow::MakeBlockingGenerator(std::move(all)).ValueOrDie();
    return arrow::MakeTransferredGenerator(std::move(blocking), &pool);
  }
  return arrow::MakeBackgroundGenerator(std::move(all), &pool, 4, 2).ValueOrDie();
}

/// Arrow C++ as the producer of random batches for one reader, on a thread of its own.
class arrow_producer {
 public:
  arrow_producer(engine& random,
                 std::size_t num_batches,
                 arrow::Status const& end = {},
                 permission may_end       = granted())
    : plain{random_batches(random, num_batches)},
      reader{std::array{1, 2, 5, 64}[random() % 4], {}},
      pool_{arrow::internal::ThreadPool::Make(1 + below(random, 3)).ValueOrDie()}
  {
    auto made = arrow_batches{};
    for (auto const& batch : plain) {
      made.push_back(arrow_batch(batch));
      made_.emplace_back(made.back());
    }
    begin(generate(std::move(made), end, std::move(may_end), *pool_, random));
  }

  arrow_producer(arrow_producer&&) = delete;

  ~arrow_producer()
  {
    seen.wait_for_release();
    thread_.join();
    pool_->WaitForIdle();
    generator_ = nullptr;
    EXPECT_LE(seen.num_cancels(), 1);
    for (auto const& batch : made_) { EXPECT_TRUE(batch.expired()); }
  }

  /// Wait for the next array, and import it to Arrow C++. @return Null at the end
  std::shared_ptr<arrow::RecordBatch> next()
  {
    reader.wait();
    auto batch = reader.next();
    if (!batch) { throw std::logic_error{"ready, but nothing there"}; }
    if (batch->is_end()) { return nullptr; }
    return arrow::ImportDeviceRecordBatch(batch->array.get(), arrow_schema()).ValueOrDie();
  }

  /// Read and compare `count` arrays. @return Whether the stream had so many
  bool read(std::size_t count)
  {
    for (std::size_t i = 0; i < count; ++i) {
      auto const batch = next();
      if (batch == nullptr) { return false; }
      EXPECT_TRUE(batch->Equals(*arrow_batch(plain.at(i)))) << i;
    }
    return true;
  }

  std::vector<plain_batch> plain;
  async_stream_reader reader;
  witness seen{reader.take_handler()};

 private:
  void begin(batch_generator generator)
  {
    generator_ = std::move(generator);
    thread_    = std::thread{[this] {
      auto const ended = arrow::ExportAsyncRecordBatchReader(
        arrow_schema(), generator_, arrow::DeviceAllocationType::kCPU, seen.handler());
      ended.Wait();
    }};
  }

  std::vector<std::weak_ptr<arrow::RecordBatch>> made_;
  std::shared_ptr<arrow::internal::ThreadPool> pool_;
  batch_generator
    generator_;  ///< destroying a background one joins its thread; on that thread it hangs
  std::thread thread_;
};

std::size_t random_size(engine& random) { return random() % 3 == 0 ? 40 : random() % 6; }

TEST(ArrowProducer, IsReadToTheEnd)
{
  run_trials([](engine& random) {
    auto producer = arrow_producer{random, random_size(random)};
    EXPECT_TRUE(producer.read(producer.plain.size()));
    EXPECT_EQ(producer.next(), nullptr);
    auto schema = copy_schema(producer.reader.schema()).to_arrow();
    EXPECT_TRUE(arrow::ImportSchema(schema.get()).ValueOrDie()->Equals(*arrow_schema(), true));
    EXPECT_EQ(producer.reader.device_type(), ARROW_DEVICE_CPU);
    producer.seen.wait_for_release();
    EXPECT_EQ(producer.seen.calls(), "s" + std::string(producer.plain.size(), 't') + "nr");
    EXPECT_EQ(producer.seen.num_cancels(), 0);
  });
}

TEST(ArrowProducer, IsCancelledInTheMiddle)
{
  auto num_reported = 0;
  run_trials([&](engine& random) {
    // Arrow C++ may free its producer just before the end, and then a cancel has no effect.
    auto const may_end = std::make_shared<std::atomic<bool>>(false);
    auto producer      = arrow_producer{random, random_size(random), {}, may_end};
    auto const some    = random() % (producer.plain.size() + 1);
    EXPECT_TRUE(producer.read(some));
    switch (random() % 3) {
      case 0: producer.reader.cancel(); break;
      case 1: producer.reader = async_stream_reader{}; break;
      default: {
        // Another thread cancels while this thread reads.
        auto other = std::thread{[&producer, drawn = static_cast<unsigned>(random())] {
          dawdle(drawn);
          producer.reader.cancel();
        }};
        while (producer.next() != nullptr) {}
        other.join();
      }
    }
    *may_end = true;
    may_end->notify_all();
    producer.seen.wait_for_release();
    auto const calls = producer.seen.calls();
    EXPECT_EQ(calls.find_first_not_of("sSt"), calls.size() - 2) << calls;
    EXPECT_TRUE(calls.ends_with("nr") || calls.ends_with("xr")) << calls;
    // Arrow C++ may report a cancel as an error. The reader ignores errors after a cancel.
    num_reported += calls.ends_with("xr") ? 1 : 0;
  });
  EXPECT_GT(num_reported, 0);
}

TEST(ArrowProducer, IsCancelledBeforeItBegins)
{
  auto reader = async_stream_reader{1, {}};
  auto seen   = witness{reader.take_handler()};
  reader.cancel();
  auto const ended =
    arrow::ExportAsyncRecordBatchReader(arrow_schema(),
                                        arrow::MakeVectorGenerator(arrow_batches{arrow_batch({})}),
                                        arrow::DeviceAllocationType::kCPU,
                                        seen.handler());
  EXPECT_FALSE(ended.status().ok());
  // Arrow C++ reports the rejected schema twice: in its status and by on_error.
  EXPECT_EQ(seen.calls(), "Sxr");
  EXPECT_EQ(seen.num_cancels(), 0);
  EXPECT_TRUE(reader.next()->is_end());
}

/// Return the error that a stream ends with.
std::optional<async_stream_error> error_of(arrow_producer& producer)
{
  try {
    while (producer.next() != nullptr) {}
  } catch (async_stream_error const& error) {
    return error;
  }
  return {};
}

TEST(ArrowProducer, ReportsAnErrorInTheMiddle)
{
  run_trials([](engine& random) {
    auto producer =
      arrow_producer{random, random_size(random), arrow::Status::IOError("the disk is gone")};
    EXPECT_TRUE(producer.read(producer.plain.size()));
    for (auto again = 0; again < 2; ++again) {
      auto const error = error_of(producer);
      ASSERT_TRUE(error);
      EXPECT_EQ(error->code(), EINVAL);
      EXPECT_STREQ(error->what(), "the disk is gone");
    }
    EXPECT_EQ(producer.seen.num_cancels(), 0);
  });
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
