// SPDX-License-Identifier: Apache-2.0
/// @file
/// An export has a pooled event, which is recorded on the stream after all conversions.
#include "sim/tests/bridge_test.hpp"

#include <rmm/error.hpp>
#include <rmm/mr/per_device_resource.hpp>

#include <optional>
#include <thread>

namespace cudf_arrow_bridge::test {
namespace {

class export_order : public bridge_test {};

cudaEvent_t event_of(unique_device_array const& array)
{ return *static_cast<cudaEvent_t*>(array->sync_event); }

TEST_F(export_order, event_follows_the_conversions)
{
  auto const type   = flat("bool8");
  auto const values = samples(type, 40, 30);
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const stream   = lasting_stream{};
    auto const consumer = lasting_stream{};
    auto const before   = sim::host_syncs_here();
    auto array          = to_arrow(column(type, values, stream.get()), stream.get()).to_arrow();
    EXPECT_EQ(sim::host_syncs_here(), before);
    EXPECT_EQ(cudaStreamWaitEvent(consumer.get(), event_of(array)), cudaSuccess);
    auto bits = std::vector<bool>{};
    sim::enqueue(consumer.get(), [&] {
      auto const* data = static_cast<std::uint8_t const*>(array->array.buffers[1]);
      for (auto i = 0U; i < values.size(); ++i) {
        bits.push_back((data[i / 8] >> (i % 8) & 1) != 0);
      }
    });
    synchronize(consumer.get());
    for (auto i = 0U; i < values.size(); ++i) {
      if (!values[i].is_null()) { EXPECT_EQ(bits[i], values[i].number() != 0); }
    }
  }
}

TEST_F(export_order, buffers_and_wait_block_until_the_event)
{
  auto const type   = flat("string");
  auto const values = std::vector<value>{{"a"}, {"bc"}, {"def"}};
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const stream = lasting_stream{};
    auto const array  = to_arrow(column(type, values, stream.get()), stream.get());
    EXPECT_EQ(array.buffers()[2].size, 6);
    auto ran = false;
    sim::enqueue(stream.get(), [&] { ran = true; });
    auto const later = to_arrow(integer_column(stream.get()), stream.get());
    later.wait();
    EXPECT_TRUE(ran);
  }
}

TEST_F(export_order, sizes_of_strings_are_read_on_the_exports_stream)
{
  auto const type   = flat("string");
  auto const stream = lasting_stream{};
  auto const array  = to_arrow(column(type, {{"a"}, {"bc"}, {"def"}}, stream.get()), stream.get());
  auto const other  = lasting_stream{};
  auto const slow   = sim::slow_stream{other.get()};
  sim::enqueue(other.get(), [] {});
  EXPECT_EQ(array.buffers()[2].size, 6);
}

TEST_F(export_order, sizes_of_all_strings_are_read_at_once_and_kept)
{
  auto const text   = flat("string");
  auto const stream = lasting_stream{};
  auto columns      = std::vector<std::unique_ptr<cudf::column>>{};
  for (auto const* word : {"a", "bc", "def"}) {
    columns.push_back(column(text, {{word}, {""}}, stream.get()));
  }
  auto const owner = std::make_shared<cudf::table>(std::move(columns));
  auto const array = to_arrow_device(owner->view(), owner, {}, stream.get(), pool_);
  auto const sizes = [&array] {
    auto result = std::vector<std::int64_t>{};
    for (auto const i : {0U, 1U, 2U}) { result.push_back(array.child(i).buffers()[2].size); }
    return result;
  };
  auto const before = sim::host_syncs_here();
  for (auto repeat = 0; repeat < 2; ++repeat) {
    EXPECT_EQ(sizes(), (std::vector<std::int64_t>{1, 2, 3}));
    EXPECT_EQ(sim::host_syncs_here() - before, 2U);  // for the data, and for the sizes
  }
}

TEST_F(export_order, sizes_of_strings_are_read_on_default_streams_of_the_memorys_device)
{
  auto const type = flat("string");
  for (auto const stream : {cudaStream_t{}, cudaStreamPerThread}) {
    for (auto seed = 0U; seed < many_seeds; ++seed) {
      sim::reset(seed);
      auto array = device_array{};
      {
        auto const guard = on_device{rmm::cuda_device_id{1}};
        auto const owner = std::shared_ptr{
          upload_column(make_column(type, {{"a"}, {"bc"}, {"def"}}), stream, far_pool_)};
        array = to_arrow_device(owner->view(), owner, {}, stream, far_pool_);
      }
      auto const before = sim::host_syncs_here();
      EXPECT_EQ(array.buffers()[2].size, 6);
      EXPECT_EQ(sim::host_syncs_here() - before, 2U);
      EXPECT_EQ(rmm::get_current_cuda_device().value(), 0);
    }
  }
}

TEST_F(export_order, event_follows_the_producers_kernels)
{
  auto const stream = lasting_stream{};
  auto source       = integer_column(stream.get());
  auto slow         = std::optional<sim::slow_stream>{stream.get()};
  auto ran          = false;
  sim::enqueue(stream.get(), [&] { ran = true; });
  auto const array = to_arrow(std::move(source), stream.get()).to_arrow();
  sim::drain();
  EXPECT_EQ(cudaEventQuery(event_of(array)), cudaErrorNotReady);
  slow.reset();
  EXPECT_EQ(cudaEventSynchronize(event_of(array)), cudaSuccess);
  EXPECT_TRUE(ran);
}

TEST_F(export_order, event_has_no_timing_and_uses_blocking_sync)
{
  auto const none   = empty_pool{};
  auto const stream = lasting_stream{};
  auto const array  = to_arrow(integer_column(stream.get()), stream.get()).to_arrow();
  EXPECT_EQ(sim::event_flags(event_of(array)), cudaEventDisableTiming | cudaEventBlockingSync);
}

TEST_F(export_order, structs_of_one_export_share_its_event)
{
  auto const stream  = lasting_stream{};
  auto exported      = to_arrow(integer_column(stream.get()), stream.get());
  auto const records = sim::calls("cudaEventRecord");
  auto const one     = exported.to_arrow();
  auto const two     = exported.to_arrow();
  exported.reset();
  EXPECT_EQ(one->sync_event, two->sync_event);
  EXPECT_EQ(sim::calls("cudaEventRecord"), records);
  EXPECT_EQ(detail::events_in_use(), 1U);
}

TEST_F(export_order, host_memory_has_no_event)
{
  auto const host  = std::shared_ptr<cudf::column>{make_column(flat("int32"), {number(1)})};
  auto const array = to_arrow_device(host->view(), host, {}, stream(), pool_).to_arrow();
  EXPECT_EQ(array->sync_event, nullptr);
  EXPECT_EQ(array->device_type, ARROW_DEVICE_CPU);
  EXPECT_EQ(array->device_id, -1);
}

TEST_F(export_order, events_belong_to_the_device_of_the_memory)
{
  auto far    = std::unique_ptr<cudf::column>{};
  auto stream = std::optional<lasting_stream>{};
  {
    auto const guard = on_device{rmm::cuda_device_id{1}};
    stream.emplace();
    far = upload_column(
      make_column(flat("bool8"), samples(flat("bool8"), 9, 0)), stream->get(), far_pool_);
  }
  auto owner       = std::shared_ptr<cudf::column>{std::move(far)};
  auto const array = to_arrow_device(owner->view(), owner, {}, stream->get(), far_pool_).to_arrow();
  EXPECT_EQ(array->device_id, 1);
  EXPECT_EQ(locate(array->array.buffers[1]), (memory_location{ARROW_DEVICE_CUDA, 1}));
  EXPECT_EQ(rmm::get_current_cuda_device().value(), 0);
}

TEST_F(export_order, export_waits_if_a_device_can_write_to_the_pageable_memory)
{
  constexpr auto rows = 16;
  for (auto const device : {0, 1}) {
    for (auto seed = 0U; seed < many_seeds; ++seed) {
      sim::reset(seed);
      sim::share_pageable_memory_with(device);
      auto const stream = lasting_stream{};
      auto const bools  = std::make_shared<std::vector<std::uint8_t>>(rows);
      auto const view =
        cudf::column_view{cudf::data_type{cudf::type_id::BOOL8}, rows, bools->data(), nullptr, 0};
      sim::enqueue(stream.get(), [&] { std::fill(bools->begin(), bools->end(), 1); });
      auto const array = to_arrow_device(view, bools, {}, stream.get(), pool_).to_arrow();
      EXPECT_EQ(array->device_type, ARROW_DEVICE_CPU);
      EXPECT_EQ(array->sync_event, nullptr);
      // The CPU packs the bools, so the export must wait for the kernel first.
      auto const* bits = static_cast<std::uint8_t const*>(array->array.buffers[1]);
      EXPECT_EQ(bits[0], 0xFF);
      EXPECT_EQ(bits[1], 0xFF);
    }
  }
}

TEST_F(export_order, export_on_the_legacy_stream_waits_for_per_thread_default_streams)
{
  constexpr auto rows = 8;
  for (auto const legacy : {cudaStream_t{}, cudaStreamLegacy}) {
    for (auto seed = 0U; seed < many_seeds; ++seed) {
      sim::reset(seed);
      sim::share_pageable_memory_with(0);
      auto const bools = std::make_shared<std::vector<std::uint8_t>>(rows);
      auto const view =
        cudf::column_view{cudf::data_type{cudf::type_id::BOOL8}, rows, bools->data(), nullptr, 0};
      std::thread{[&] {
        sim::enqueue(cudaStreamPerThread, [=] { std::fill(bools->begin(), bools->end(), 1); });
      }}.join();
      auto const array =
        to_arrow_device(view, bools, {}, cuda::stream_ref{legacy}, pool_).to_arrow();
      EXPECT_EQ(*static_cast<std::uint8_t const*>(array->array.buffers[1]), 0xFF);
    }
  }
}

TEST_F(export_order, export_does_not_wait_if_no_device_can_access_the_pageable_memory)
{
  auto const stream = lasting_stream{};
  auto const host   = std::shared_ptr<cudf::column>{make_column(flat("int32"), {number(1)})};
  auto const slow   = sim::slow_stream{stream.get()};
  sim::enqueue(stream.get(), [] {});
  auto const before = sim::host_syncs_here();
  (void)to_arrow_device(host->view(), host, {}, stream.get(), pool_);
  EXPECT_EQ(sim::host_syncs_here(), before);
}

TEST_F(export_order, converted_buffers_are_on_the_device_of_the_source)
{
  auto const stream = stream_on(1);
  auto guard        = std::optional<on_device>{std::in_place, rmm::cuda_device_id{1}};
  auto const owner  = std::shared_ptr<cudf::column>{upload_column(
    make_column(flat("bool8"), samples(flat("bool8"), 9, 0)), stream->get(), far_pool_)};
  guard.reset();
  auto const mr    = rmm::mr::get_current_device_resource_ref();
  auto const array = to_arrow_device(owner->view(), owner, {}, stream->get(), mr).to_arrow();
  EXPECT_EQ(locate(array->array.buffers[1]), (memory_location{ARROW_DEVICE_CUDA, 1}));
}

/// A pool that counts its allocations.
struct counting_pool {
  void* allocate(cuda::stream_ref on, std::size_t bytes, std::size_t alignment = 256)
  {
    ++*count;
    return pool.allocate(on, bytes, alignment);
  }
  void deallocate(cuda::stream_ref on, void* memory, std::size_t bytes, std::size_t = 256) noexcept
  { pool.deallocate(on, memory, bytes); }
  void* allocate_sync(std::size_t bytes, std::size_t = 256) { return pool.allocate_sync(bytes); }
  void deallocate_sync(void* memory, std::size_t bytes, std::size_t = 256) noexcept
  { pool.deallocate_sync(memory, bytes); }
  bool operator==(counting_pool const& other) const noexcept { return count == other.count; }
  friend void get_property(counting_pool const&, cuda::mr::device_accessible) noexcept {}

  sim::pool_resource pool{};
  std::shared_ptr<int> count{std::make_shared<int>(0)};
};

TEST_F(export_order, export_rejects_a_memory_resource_of_another_device)
{
  auto const stream = stream_on(1);
  auto guard        = std::optional<on_device>{std::in_place, rmm::cuda_device_id{1}};
  auto const owner  = std::shared_ptr<cudf::column>{upload_column(
    make_column(flat("bool8"), samples(flat("bool8"), 9, 0)), stream->get(), far_pool_)};
  guard.reset();
  auto near = counting_pool{};
  try {
    (void)to_arrow_device(owner->view(), owner, {}, stream->get(), near);
    FAIL() << "nothing was thrown";
  } catch (std::invalid_argument const& error) {
    auto const text = std::string{error.what()};
    EXPECT_NE(text.find("got one for memory of CUDA device 0"), std::string::npos) << text;
    EXPECT_NE(text.find("expected a memory resource for memory of CUDA device 1"),
              std::string::npos)
      << text;
  }
  EXPECT_EQ(rmm::get_current_cuda_device().value(), 0);
}

TEST_F(export_order, export_allocates_only_the_result_from_the_given_resource)
{
  auto const stream = lasting_stream{};
  auto counting     = counting_pool{};
  auto const source =
    std::shared_ptr{column(flat("bool8"), samples(flat("bool8"), 40, 30), stream.get())};
  auto const array = to_arrow_device(source->view(), source, {}, stream.get(), counting);
  EXPECT_EQ(*counting.count, 1) << "the bits";
}

TEST_F(export_order, another_thread_frees_converted_buffers_after_the_conversion)
{
  static constexpr auto size = 8;
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    // The freeing thread waits only if `cudaStreamWaitEvent` fails, here with every second seed.
    auto const waits = std::size_t{seed % 2};
    sim::reset(seed);
    auto source   = column(flat("bool8"), std::vector<value>(size, number(1)), cudaStreamPerThread);
    auto exported = to_arrow(std::move(source), cudaStreamPerThread);
    auto others   = std::vector<rmm::device_buffer>{};
    std::thread{[&] {
      auto const stream = cuda::stream_ref{cudaStreamPerThread};
      if (seed % 4 >= 2) { exported = exported.slice(2, 4, false); }
      auto const before = sim::host_syncs_here();
      if (waits > 0) { sim::fail_next("cudaStreamWaitEvent", cudaErrorInvalidValue); }
      exported.reset();
      EXPECT_EQ(sim::host_syncs_here() - before, waits);
      EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
      for (auto count = 0; count < 4; ++count) {
        auto& other = others.emplace_back(std::size_t{size}, stream, pool_);
        sim::enqueue(stream.get(), [data = other.data()] { std::memset(data, 5, size); });
      }
    }}.join();
    sim::drain();
    for (auto const& other : others) {
      auto const* bytes = static_cast<std::byte const*>(other.data());
      EXPECT_EQ(std::count(bytes, bytes + size, std::byte{5}), size);
    }
  }
}

TEST_F(export_order, another_thread_frees_the_source_after_the_exporting_threads_reads)
{
  static constexpr auto size = 4;
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const values = integers_t{1, 2, 3, 4};
    auto source       = std::shared_ptr{integer_column(cudaStreamPerThread, values)};
    auto const view   = source->view();
    auto exported     = to_arrow(std::move(source), cudaStreamPerThread);
    auto const seen   = read_later(view, flat("int32"), cudaStreamPerThread);
    auto other        = rmm::device_buffer{};
    std::thread{[&] {
      auto const stream = cuda::stream_ref{cudaStreamPerThread};
      auto const before = sim::host_syncs_here();
      exported.reset();
      EXPECT_EQ(sim::host_syncs_here(), before);
      other = rmm::device_buffer{size * sizeof(std::int32_t), stream, pool_};
      sim::enqueue(stream.get(), [&] { std::memset(other.data(), 5, other.size()); });
    }}.join();
    sim::drain();
    EXPECT_EQ(*seen, integer_rows(values));
  }
}

TEST_F(export_order, events_are_reused_after_an_export_is_released)
{
  auto const stream = lasting_stream{};
  auto const owner  = std::shared_ptr<cudf::column>{integer_column(stream.get())};
  (void)to_arrow(owner, stream.get());
  auto const events = sim::live_events();
  for (auto i = 0; i < 5000; ++i) {
    auto const array = to_arrow(owner, stream.get()).to_arrow();
    EXPECT_EQ(detail::events_in_use(), 1U);
  }
  EXPECT_EQ(sim::live_events(), events);
  EXPECT_EQ(detail::events_in_use(), 0U);
}

TEST_F(export_order, live_exports_have_different_events)
{
  auto const stream = lasting_stream{};
  auto const owner  = std::shared_ptr<cudf::column>{integer_column(stream.get())};
  {
    auto const idle = std::pair{to_arrow(owner, stream.get()), to_arrow(owner, stream.get())};
  }
  auto const one = to_arrow(owner, stream.get()).to_arrow();
  auto const two = to_arrow(owner, stream.get()).to_arrow();
  EXPECT_NE(event_of(one), event_of(two));
}

TEST_F(export_order, failed_export_frees_its_memory_and_its_event)
{
  auto const stream = lasting_stream{};
  for (auto const* function : {"cudaEventCreateWithFlags", "cudaEventRecord"}) {
    auto const none = empty_pool{};
    auto source     = column(flat("bool8"), samples(flat("bool8"), 9, 30), stream.get());
    auto const live = sim::live_allocations();
    auto const used = detail::events_in_use();
    auto owner      = std::shared_ptr<cudf::column>{std::move(source)};
    sim::fail_next(function, cudaErrorInvalidValue);
    EXPECT_THROW((void)to_arrow(owner, stream.get()), rmm::cuda_error);
    EXPECT_EQ(owner.use_count(), 1);
    EXPECT_EQ(sim::live_allocations(), live);
    EXPECT_EQ(detail::events_in_use(), used);
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
