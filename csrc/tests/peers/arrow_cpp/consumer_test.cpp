// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of Arrow C++ as the consumer of `to_arrow_async`.
#include "peers/arrow_cpp/batches.hpp"
#include "peers/arrow_cpp/trials.hpp"
#include "peers/arrow_cpp/witness.hpp"

#include <cudf_arrow_bridge/async.hpp>

#include <arrow/c/bridge.h>
#include <arrow/util/async_generator.h>
#include <arrow/util/thread_pool.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

/// Batches of host columns, with an optional error instead of one of them.
class host_batches : public batch_source {
 public:
  struct contents {
    std::vector<plain_batch> batches;
    std::optional<std::size_t> failing;  ///< position of the error
    std::atomic<std::size_t> num_read{0};
    std::shared_ptr<int const> owner{std::make_shared<int>()};  ///< held by each array
  };

  host_batches(std::shared_ptr<contents> all, unsigned seed) : all_{std::move(all)}, random_{seed}
  {
  }

  stream_batch next() override
  {
    dawdle(static_cast<unsigned>(random_()));
    if (position_ == all_->failing) {
      // Arrow C++ never extracts the tasks that it has not read before the error.
      wait_until([this] { return all_->num_read == position_; });
      throw stream_error{ENOSPC, "the disk is full"};
    }
    if (position_ == all_->batches.size()) { return {}; }
    auto columns    = std::make_shared<owned_columns>(all_->batches[position_++], all_->owner);
    auto const view = columns->columns.view();
    return {schema_,
            to_arrow_device(
              view, std::move(columns), {.schema = schema_}, stream(), host_memory_resource())};
  }

 private:
  struct owned_columns {
    owned_columns(plain_batch const& batch, std::shared_ptr<int const> keeper)
      : columns{batch}, owner{std::move(keeper)}
    {
    }

    host_columns columns;
    std::shared_ptr<int const> owner;
  };

  std::shared_ptr<contents> all_;
  engine random_;
  std::size_t position_{0};
  shared_schema schema_{bridge_schema()};
};

/// The batches that Arrow C++ has read, and its last status.
struct outcome {
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  arrow::Status status;
};

outcome read_all(arrow::Future<arrow::AsyncRecordBatchGenerator> opening,
                 host_batches::contents& all,
                 engine& random)
{
  auto result = outcome{};
  auto opened = opening.MoveResult();
  if (!opened.ok()) {
    result.status = opened.status();
    return result;
  }
  EXPECT_TRUE(opened->schema->Equals(*arrow_schema(), true));
  EXPECT_EQ(opened->device_type, arrow::DeviceAllocationType::kCPU);
  while (true) {
    dawdle(static_cast<unsigned>(random()));
    auto const next = opened->generator().MoveResult();
    result.status   = next.status();
    if (!next.ok() || arrow::IsIterationEnd(*next)) { return result; }
    result.batches.push_back(next->batch);
    ++all.num_read;
  }
}

void check(outcome const& found, host_batches::contents const& all)
{
  auto const expected = all.failing.value_or(all.batches.size());
  ASSERT_EQ(found.batches.size(), expected);
  for (std::size_t i = 0; i < expected; ++i) {
    EXPECT_TRUE(found.batches[i]->ValidateFull().ok());
    EXPECT_TRUE(found.batches[i]->Equals(*arrow_batch(all.batches[i]))) << i;
  }
  if (!all.failing) {
    EXPECT_TRUE(found.status.ok()) << found.status;
    return;
  }
  auto const* detail = dynamic_cast<arrow::AsyncErrorDetail const*>(found.status.detail().get());
  ASSERT_NE(detail, nullptr) << found.status;
  EXPECT_EQ(detail->code(), ENOSPC);
  EXPECT_EQ(found.status.message(), "the disk is full");
}

class ArrowConsumer : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  static void run(engine& random, std::size_t num_batches, bool fails)
  {
    auto all     = std::make_shared<host_batches::contents>();
    all->batches = random_batches(random, num_batches);
    if (fails) { all->failing = random() % (num_batches + 1); }
    auto const owner = std::weak_ptr{all->owner};
    auto pool        = arrow::internal::ThreadPool::Make(1 + below(random, 3)).ValueOrDie();

    auto consumer = ArrowAsyncDeviceStreamHandler{};
    auto seen     = witness{&consumer};
    auto opening  = arrow::CreateAsyncDeviceStreamHandler(&consumer, pool.get(), GetParam());
    auto source   = device_array_stream{
      std::make_unique<host_batches>(all, static_cast<unsigned>(random())), bridge_schema()};
    // In half of the runs without an error, the source is a synchronous C stream.
    if (!fails && random() % 2 == 0) {
      auto pulled = std::move(source).to_arrow();
      to_arrow_async(array_stream_reader{pulled.get()}, seen.handler());
    } else {
      to_arrow_async(std::move(source), seen.handler());
    }
    {
      auto const found = read_all(std::move(opening), *all, random);
      check(found, *all);
    }
    seen.wait_for_release();
    pool->WaitForIdle();
    EXPECT_EQ(seen.num_unrequested(), 0);
    auto const num_handed_over = fails ? *all->failing : num_batches;
    auto const has_schema      = !fails || num_handed_over > 0;
    EXPECT_EQ(seen.calls(),
              (has_schema ? "s" : "") + std::string(num_handed_over, 't') + (fails ? "xr" : "nr"));
    all.reset();
    wait_until([&] { return owner.expired(); });
  }
};

TEST_P(ArrowConsumer, ReadsToTheEnd)
{
  run_trials([](engine& random) { run(random, random() % 3 == 0 ? 40 : random() % 6, false); });
}

TEST_P(ArrowConsumer, ReportsAnErrorInTheMiddle)
{
  run_trials([](engine& random) { run(random, random() % 20, true); });
}

INSTANTIATE_TEST_SUITE_P(Queues, ArrowConsumer, ::testing::Values(1, 2, 5, 64));

}  // namespace
}  // namespace cudf_arrow_bridge::test
