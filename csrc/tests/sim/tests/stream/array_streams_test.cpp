// SPDX-License-Identifier: Apache-2.0
/// @file
/// Each batch of an array stream has its own event. Streams of host arrays have no events and wait.
#include "sim/tests/bridge_test.hpp"

#include <cudf_arrow_bridge/stream.hpp>

#include <deque>
#include <optional>
#include <thread>

namespace cudf_arrow_bridge::test {
namespace {

constexpr auto some_seeds = 30U;
constexpr auto batch_rows = 4;

class ArrayStreams : public bridge_test {
 protected:
  std::unique_ptr<batch_source> batches_of(std::shared_ptr<cudf::column> owner, cudaStream_t stream)
  {
    auto const view   = owner->view();
    auto const schema = cudf_arrow_bridge::make_schema(view, {});
    return slices(view, std::move(owner), batch_rows, {.schema = schema}, stream, pool_);
  }

  device_array_stream split(std::shared_ptr<cudf::column> owner, cudaStream_t stream)
  { return device_array_stream{batches_of(std::move(owner), stream)}; }

  /// A stream of the batches of several columns.
  device_array_stream chain_of(std::deque<std::shared_ptr<cudf::column>> columns,
                               cudaStream_t stream)
  {
    return device_array_stream{chain(
      [this, stream, columns = std::move(columns)]() mutable -> std::unique_ptr<batch_source> {
        if (columns.empty()) { return nullptr; }
        auto const owner = columns.front();
        columns.pop_front();
        return batches_of(owner, stream);
      })};
  }

  /// Imports all batches and has a kernel read each.
  std::vector<late_rows> read_all(unique_device_array_stream& batches,
                                  shape const& type,
                                  cudaStream_t stream)
  {
    auto result = std::vector<late_rows>{};
    auto reader = array_stream_reader{batches.get()};
    for (auto array = reader.next(); !array.is_released(); array = reader.next()) {
      result.push_back(
        read_later(import(array.get(), reader.schema(), stream).view(), type, stream));
    }
    return result;
  }

  static rows joined(std::vector<late_rows> const& parts)
  {
    auto result = rows{};
    for (auto const& part : parts) { result.insert(result.end(), part->begin(), part->end()); }
    return result;
  }
};

TEST_F(ArrayStreams, ConsumersWaitForTheEventOfEachBatch)
{
  auto const type = flat("int32");
  for_seeds(some_seeds, [&](cudaStream_t stream, cudaStream_t consumer) {
    auto const values = samples(type, 10, 0);
    auto const before = sim::host_syncs_here();
    auto batches      = split(column(type, values, stream), stream).to_arrow();
    auto const seen   = read_all(batches, type, consumer);
    EXPECT_EQ(sim::host_syncs_here(), before);
    synchronize(consumer);
    EXPECT_EQ(joined(seen), values);
  });
}

TEST_F(ArrayStreams, NullsOfAllBatchesAreCountedWithOneWait)
{
  auto const stream = lasting_stream{};
  for (auto const& type :
       {flat("int32"), flat("string"), struct_of({flat("int32"), flat("int8")})}) {
    auto const values = samples(type, 10, 40);
    auto const before = sim::host_syncs_here();
    auto batches      = split(column(type, values, stream.get()), stream.get()).to_arrow();
    auto reader       = array_stream_reader{batches.get()};
    for (std::size_t begin = 0; begin < values.size(); begin += batch_rows) {
      auto const end = std::min<std::size_t>(begin + batch_rows, values.size());
      EXPECT_EQ(reader.next()->array.null_count, count_nulls(part(values, begin, end)));
    }
    EXPECT_EQ(sim::host_syncs_here() - before, 1U);
  }
}

TEST_F(ArrayStreams, AnotherThreadCanPullBatchesOfAPerThreadDefaultStream)
{
  for (auto const& type : {flat("int32"), flat("bool8")}) {
    for_seeds(some_seeds, [&](cudaStream_t consumer) {
      auto const values = samples(type, 10, 0);
      auto batches =
        split(column(type, values, cudaStreamPerThread), cudaStreamPerThread).to_arrow();
      auto seen = std::vector<late_rows>{};
      std::thread{[&] {
        auto const before = sim::host_syncs_here();
        seen              = read_all(batches, type, consumer);
        EXPECT_EQ(sim::host_syncs_here(), before);
      }}.join();
      synchronize(consumer);
      EXPECT_EQ(joined(seen), values);
    });
  }
}

TEST_F(ArrayStreams, EachBatchHasItsOwnEvent)
{
  auto const stream = lasting_stream{};
  auto batches      = split(integer_column(stream.get(), {1, 2, 3, 4, 5}), stream.get());
  auto const one    = batches.next().array.to_arrow();
  synchronize(stream.get());
  auto slow      = std::optional<sim::slow_stream>{stream.get()};
  auto const two = batches.next().array.to_arrow();
  EXPECT_NE(event_of(one), event_of(two));
  sim::drain();
  // The first batch's event does not include work enqueued after that batch was made.
  EXPECT_EQ(cudaEventQuery(event_of(one)), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event_of(two)), cudaErrorNotReady);
  slow.reset();
  EXPECT_EQ(cudaEventSynchronize(event_of(two)), cudaSuccess);
  EXPECT_EQ(detail::events_in_use(), 2U);
}

TEST_F(ArrayStreams, StreamsOfHostArraysWaitForEachBatchAndCopyDeviceMemory)
{
  auto const type = flat("int32");
  for (auto const kind : {memory_kind::pinned, memory_kind::device}) {
    for_seeds(some_seeds, [&](cudaStream_t stream) {
      auto memory        = sim::pool_resource{kind};
      auto const values  = samples(type, 10, 0);
      auto owner         = late_column(type, values, stream, memory);
      auto const* source = owner->view().head<std::int32_t>();
      auto batches       = split(std::move(owner), stream).to_arrow_host();
      auto received      = integers_t{};
      for (;;) {
        auto array = unique_array{};
        EXPECT_EQ(batches->get_next(batches.get(), array.get()), 0);
        if (array.is_released()) { break; }
        auto const* data = static_cast<std::int32_t const*>(array->buffers[1]);
        EXPECT_EQ(data == source + received.size(), kind == memory_kind::pinned);
        received.insert(received.end(), data, data + array->length);
      }
      EXPECT_EQ(integer_rows(received), values);
      batches.reset();
      settle();
    });
  }
}

TEST_F(ArrayStreams, RejectABatchInOtherMemory)
{
  auto const stream = lasting_stream{};
  auto batches =
    chain_of({integer_column(stream.get()), make_column(flat("int32"), {number(1)})}, stream.get());
  (void)batches.next();
  EXPECT_THROW((void)batches.next(), std::invalid_argument);
}

TEST_F(ArrayStreams, BatchesWithoutRowsFitAllKindsOfCudaMemory)
{
  auto const type   = flat("int32");
  auto const values = integer_rows({1, 2});
  auto const stream = lasting_stream{};
  for (auto const& [kind, label] : {std::pair{memory_kind::managed, ARROW_DEVICE_CUDA_MANAGED},
                                    std::pair{memory_kind::pinned, ARROW_DEVICE_CUDA_HOST}}) {
    auto memory = sim::pool_resource{kind};
    for (auto const begins_without_rows : {true, false}) {
      auto parts = std::deque{late_column(type, values, stream.get(), memory),
                              std::shared_ptr{make_column(type, {})}};
      if (begins_without_rows) { std::swap(parts[0], parts[1]); }
      auto stream_of_parts = chain_of(std::move(parts), stream.get());
      auto const expected  = begins_without_rows ? ARROW_DEVICE_CUDA : label;
      EXPECT_EQ(stream_of_parts.device_type(), expected);
      auto batches = std::move(stream_of_parts).to_arrow();
      EXPECT_EQ(batches->device_type, expected);
      auto const found = read_all(batches, type, stream.get());
      synchronize(stream.get());
      EXPECT_EQ(found.size(), 2U);
      EXPECT_EQ(joined(found), values);
    }
  }
}

TEST_F(ArrayStreams, ReturnTheirEventsIfReleasedBeforeTheEnd)
{
  auto const stream = lasting_stream{};
  (void)split(integer_column(stream.get()), stream.get()).next();
  auto const events = sim::live_events();
  for (auto i = 0; i < 100; ++i) {
    auto batches = split(integer_column(stream.get(), {1, 2, 3, 4, 5}), stream.get()).to_arrow();
    auto array   = unique_device_array{};
    EXPECT_EQ(batches->get_next(batches.get(), array.get()), 0);
  }
  EXPECT_EQ(sim::live_events(), events);
  EXPECT_EQ(detail::events_in_use(), 0U);
}

TEST_F(ArrayStreams, FailedEventRecordEndsTheStream)
{
  auto const stream = lasting_stream{};
  auto batches      = split(integer_column(stream.get(), {1, 2, 3, 4, 5}), stream.get()).to_arrow();
  auto array        = unique_device_array{};
  EXPECT_EQ(batches->get_next(batches.get(), array.get()), 0);
  sim::fail_next("cudaEventRecord", cudaErrorInvalidValue);
  for (auto i = 0; i < 2; ++i) {
    auto failed = ArrowDeviceArray{};
    EXPECT_EQ(batches->get_next(batches.get(), &failed), EIO);
    EXPECT_NE(batches->get_last_error(batches.get()), nullptr);
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
