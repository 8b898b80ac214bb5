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

class array_streams : public bridge_test {
 protected:
  device_array_stream split(std::shared_ptr<cudf::column> owner, cudaStream_t stream)
  {
    auto const view = owner->view();
    return device_array_stream{
      slices(view, std::move(owner), batch_rows, {.schema = make_schema(view, {})}, stream, pool_)};
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

cudaEvent_t event_of(unique_device_array const& array)
{ return *static_cast<cudaEvent_t*>(array->sync_event); }

TEST_F(array_streams, consumers_wait_for_the_event_of_each_batch)
{
  auto const type = flat("int32");
  for (auto seed = 0U; seed < some_seeds; ++seed) {
    sim::reset(seed);
    auto const stream   = lasting_stream{};
    auto const consumer = lasting_stream{};
    auto const values   = samples(type, 10, 0);
    auto const before   = sim::host_syncs_here();
    auto batches        = split(column(type, values, stream.get()), stream.get()).to_arrow();
    auto const seen     = read_all(batches, type, consumer.get());
    EXPECT_EQ(sim::host_syncs_here(), before);
    synchronize(consumer.get());
    EXPECT_EQ(joined(seen), values);
  }
}

TEST_F(array_streams, nulls_of_all_batches_are_counted_with_one_wait)
{
  auto const stream = lasting_stream{};
  for (auto const& type :
       {flat("int32"), flat("string"), struct_of({flat("int32"), flat("int8")})}) {
    auto const values = samples(type, 10, 40);
    auto const before = sim::host_syncs_here();
    auto batches      = split(column(type, values, stream.get()), stream.get()).to_arrow();
    auto reader       = array_stream_reader{batches.get()};
    for (auto begin = 0; begin < std::ssize(values); begin += batch_rows) {
      auto const array = reader.next();
      auto nulls       = 0;
      for (auto row = begin; row < begin + array->array.length; ++row) {
        nulls += values[static_cast<std::size_t>(row)].is_null() ? 1 : 0;
      }
      EXPECT_EQ(array->array.null_count, nulls);
    }
    EXPECT_EQ(sim::host_syncs_here() - before, 1U);
  }
}

TEST_F(array_streams, another_thread_can_pull_batches_of_a_per_thread_default_stream)
{
  for (auto const& type : {flat("int32"), flat("bool8")}) {
    for (auto seed = 0U; seed < some_seeds; ++seed) {
      sim::reset(seed);
      auto const consumer = lasting_stream{};
      auto const values   = samples(type, 10, 0);
      auto batches =
        split(column(type, values, cudaStreamPerThread), cudaStreamPerThread).to_arrow();
      auto seen = std::vector<late_rows>{};
      std::thread{[&] {
        auto const before = sim::host_syncs_here();
        seen              = read_all(batches, type, consumer.get());
        EXPECT_EQ(sim::host_syncs_here(), before);
      }}.join();
      synchronize(consumer.get());
      EXPECT_EQ(joined(seen), values);
    }
  }
}

TEST_F(array_streams, each_batch_has_its_own_event)
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

TEST_F(array_streams, report_the_device_type_of_their_batches)
{
  auto const stream = lasting_stream{};
  auto batches      = split(integer_column(stream.get()), stream.get());
  EXPECT_EQ(batches.device_type(), ARROW_DEVICE_CUDA);
  EXPECT_EQ(std::move(batches).to_arrow()->device_type, ARROW_DEVICE_CUDA);
}

TEST_F(array_streams, streams_of_host_arrays_wait_for_each_batch_and_copy_device_memory)
{
  auto const type = flat("int32");
  for (auto const kind : {memory_kind::pinned, memory_kind::device}) {
    for (auto seed = 0U; seed < some_seeds; ++seed) {
      sim::reset(seed);
      auto memory       = sim::pool_resource{kind};
      auto const stream = lasting_stream{};
      auto const values = samples(type, 10, 0);
      auto owner        = std::shared_ptr<cudf::column>{
        upload_column(make_column(type, values), stream.get(), memory)};
      auto const* source = owner->view().head<std::int32_t>();
      auto batches       = split(std::move(owner), stream.get()).to_arrow_host();
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
    }
  }
}

TEST_F(array_streams, reject_a_batch_in_other_memory)
{
  auto const stream = lasting_stream{};
  auto const host   = std::shared_ptr<cudf::column>{make_column(flat("int32"), {number(1)})};
  auto left         = 2;
  auto batches      = device_array_stream{chain([&]() -> std::unique_ptr<batch_source> {
    auto owner = left-- == 2 ? std::shared_ptr<cudf::column>{integer_column(stream.get())} : host;
    auto const view = owner->view();
    return slices(view, owner, 1, {.schema = make_schema(view, {})}, stream.get(), pool_);
  })};
  (void)batches.next();
  EXPECT_THROW((void)batches.next(), std::invalid_argument);
}

TEST_F(array_streams, batches_without_rows_fit_all_kinds_of_cuda_memory)
{
  auto const type   = flat("int32");
  auto const stream = lasting_stream{};
  for (auto const kind : {memory_kind::managed, memory_kind::pinned}) {
    auto memory = sim::pool_resource{kind};
    for (auto const begins_without_rows : {true, false}) {
      auto const full = std::shared_ptr<cudf::column>{
        upload_column(make_column(type, {number(1), number(2)}), stream.get(), memory)};
      auto parts = std::deque{full, std::shared_ptr<cudf::column>{make_column(type, {})}};
      if (begins_without_rows) { std::swap(parts[0], parts[1]); }
      auto batches        = device_array_stream{chain([&]() -> std::unique_ptr<batch_source> {
        if (parts.empty()) { return nullptr; }
        auto const owner = parts.front();
        auto const view  = owner->view();
        parts.pop_front();
        return slices(
          view, owner, batch_rows, {.schema = make_schema(view, {})}, stream.get(), pool_);
      })};
      auto const expected = begins_without_rows            ? ARROW_DEVICE_CUDA
                            : kind == memory_kind::managed ? ARROW_DEVICE_CUDA_MANAGED
                                                           : ARROW_DEVICE_CUDA_HOST;
      EXPECT_EQ(batches.device_type(), expected);
      auto num_batches = 0;
      auto found       = std::vector<late_rows>{};
      for (auto batch = batches.next(); !batch.is_end(); batch = batches.next()) {
        EXPECT_EQ(batch.array.location().device_type, expected);
        auto array  = batch.array.to_arrow();
        auto schema = batch.schema.to_arrow();
        found.push_back(
          read_later(import(array.get(), *schema.get(), stream.get()).view(), type, stream.get()));
        ++num_batches;
      }
      synchronize(stream.get());
      EXPECT_EQ(joined(found), (rows{number(1), number(2)}));
      EXPECT_EQ(num_batches, 2);
    }
  }
}

TEST_F(array_streams, return_their_events_if_released_before_the_end)
{
  auto const stream = lasting_stream{};
  (void)split(integer_column(stream.get()), stream.get()).next();
  auto const events = sim::live_events();
  for (auto i = 0; i < 1000; ++i) {
    auto batches = split(integer_column(stream.get(), {1, 2, 3, 4, 5}), stream.get()).to_arrow();
    auto array   = unique_device_array{};
    EXPECT_EQ(batches->get_next(batches.get(), array.get()), 0);
  }
  EXPECT_EQ(sim::live_events(), events);
  EXPECT_EQ(detail::events_in_use(), 0U);
}

TEST_F(array_streams, failed_event_record_ends_the_stream)
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
