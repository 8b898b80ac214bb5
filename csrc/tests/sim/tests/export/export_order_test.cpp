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

class ExportOrder : public bridge_test {
 protected:
  /// Bools in pageable memory, which must not be changed after the export.
  struct pageable_bools {
    std::shared_ptr<std::vector<std::uint8_t>> bytes{
      std::make_shared<std::vector<std::uint8_t>>(16)};

    void set_later(cudaStream_t stream) const
    {
      sim::enqueue(stream, [all = bytes] { std::fill(all->begin(), all->end(), 1); });
    }

    /// Expects that the export sees the bools that `set_later` writes.
    void expect_export(cudaStream_t stream, rmm::device_async_resource_ref mr) const
    {
      auto const view =
        cudf::column_view{cudf::data_type{cudf::type_id::BOOL8}, 16, bytes->data(), nullptr, 0};
      auto const array = to_arrow_device(view, bytes, {}, stream, mr).to_arrow();
      EXPECT_EQ(array->device_type, ARROW_DEVICE_CPU);
      EXPECT_EQ(array->sync_event, nullptr);
      auto const* bits = static_cast<std::uint8_t const*>(array->array.buffers[1]);
      EXPECT_EQ(bits[0], 0xFF);
      EXPECT_EQ(bits[1], 0xFF);
    }
  };
};

TEST_F(ExportOrder, EventFollowsTheConversions)
{
  auto const type   = flat("bool8");
  auto const values = samples(type, 40, 30);
  for_seeds(many_seeds, [&](cudaStream_t stream) {
    auto const before = sim::host_syncs_here();
    auto const array  = export_rows(type, values, stream);
    EXPECT_EQ(sim::host_syncs_here(), before);
    EXPECT_EQ(read_behind_event(array, type), values);
  });
}

TEST_F(ExportOrder, WaitBlocksUntilTheEvent)
{
  for_seeds(many_seeds, [&](cudaStream_t stream) {
    auto ran = false;
    sim::enqueue(stream, [&] { ran = true; });
    to_arrow(integer_column(stream), stream).wait();
    EXPECT_TRUE(ran);
  });
}

TEST_F(ExportOrder, SizesOfStringsAreReadOnTheExportsStream)
{
  auto const stream = lasting_stream{};
  auto const array  = export_rows(flat("string"), {{"a"}, {"bc"}, {"def"}}, stream.get());
  auto const other  = lasting_stream{};
  auto const slow   = sim::slow_stream{other.get()};
  sim::enqueue(other.get(), [] {});
  EXPECT_EQ(array.buffers()[2].size, 6);
}

TEST_F(ExportOrder, SizesOfAllStringsAreReadAtOnceAndKept)
{
  auto const text   = flat("string");
  auto const stream = lasting_stream{};
  auto const array =
    export_rows(struct_of({text, text, text}), {{rows{{"a"}, {"bc"}, {"def"}}}}, stream.get());
  auto const before = sim::host_syncs_here();
  for (auto repeat = 0; repeat < 2; ++repeat) {
    for (auto const i : {0U, 1U, 2U}) { EXPECT_EQ(array.child(i).buffers()[2].size, i + 1); }
    EXPECT_EQ(sim::host_syncs_here() - before, 2U);  // for the data, and for the sizes
  }
}

TEST_F(ExportOrder, SizesOfStringsAreReadOnDefaultStreamsOfTheMemorysDevice)
{
  for (auto const stream : {cudaStream_t{}, cudaStreamPerThread}) {
    for_seeds(many_seeds, [&] {
      auto const array  = export_rows(flat("string"), {{"a"}, {"bc"}, {"def"}}, stream, 1);
      auto const before = sim::host_syncs_here();
      EXPECT_EQ(array.buffers()[2].size, 6);
      EXPECT_EQ(sim::host_syncs_here() - before, 2U);
      EXPECT_EQ(rmm::get_current_cuda_device().value(), 0);
    });
  }
}

TEST_F(ExportOrder, EventFollowsTheProducersKernels)
{
  auto const stream = lasting_stream{};
  auto source       = integer_column(stream.get());
  auto const* data  = source->view().head<void>();
  auto slow         = std::optional<sim::slow_stream>{stream.get()};
  auto ran          = false;
  sim::enqueue(stream.get(), [&] { ran = true; });
  auto const array = to_arrow(std::move(source), stream.get()).to_arrow();
  EXPECT_EQ(array->array.buffers[1], data);
  sim::drain();
  EXPECT_EQ(cudaEventQuery(event_of(array)), cudaErrorNotReady);
  slow.reset();
  EXPECT_EQ(cudaEventSynchronize(event_of(array)), cudaSuccess);
  EXPECT_TRUE(ran);
}

TEST_F(ExportOrder, EventHasNoTimingAndUsesBlockingSync)
{
  auto const none   = empty_pool{};
  auto const stream = lasting_stream{};
  auto const array  = to_arrow(integer_column(stream.get()), stream.get()).to_arrow();
  EXPECT_EQ(sim::event_flags(event_of(array)), cudaEventDisableTiming | cudaEventBlockingSync);
}

TEST_F(ExportOrder, StructsOfOneExportShareItsEvent)
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

TEST_F(ExportOrder, ExportWaitsIfADeviceCanWriteToThePageableMemory)
{
  for (auto const device : {0, 1}) {
    for_seeds(many_seeds, [&](cudaStream_t stream) {
      sim::share_pageable_memory_with(device);
      auto const bools = pageable_bools{};
      bools.set_later(stream);
      bools.expect_export(stream, pool_);
    });
  }
}

TEST_F(ExportOrder, ExportOnTheLegacyStreamWaitsForPerThreadDefaultStreams)
{
  for (auto const legacy : {cudaStream_t{}, cudaStreamLegacy}) {
    for_seeds(many_seeds, [&] {
      sim::share_pageable_memory_with(0);
      auto const bools = pageable_bools{};
      std::thread{[&] { bools.set_later(cudaStreamPerThread); }}.join();
      bools.expect_export(legacy, pool_);
    });
  }
}

TEST_F(ExportOrder, ExportDoesNotWaitIfNoDeviceCanAccessThePageableMemory)
{
  auto const stream = lasting_stream{};
  auto const host   = std::shared_ptr{make_column(flat("int32"), {number(1)})};
  auto const slow   = sim::slow_stream{stream.get()};
  sim::enqueue(stream.get(), [] {});
  auto const before = sim::host_syncs_here();
  (void)to_arrow(host, stream.get());
  EXPECT_EQ(sim::host_syncs_here(), before);
}

TEST_F(ExportOrder, ConvertedBuffersAreOnTheDeviceOfTheSource)
{
  auto const stream = stream_on(1);
  auto const owner  = column(flat("bool8"), integer_rows({1, 0}), stream->get(), 1);
  auto const mr     = rmm::mr::get_current_device_resource_ref();
  auto const array  = to_arrow_device(owner->view(), owner, {}, stream->get(), mr).to_arrow();
  EXPECT_EQ(array->device_id, 1);
  EXPECT_EQ(locate(array->array.buffers[1]), (memory_location{ARROW_DEVICE_CUDA, 1}));
  EXPECT_EQ(rmm::get_current_cuda_device().value(), 0);
  auto const other = to_arrow_device(owner->view(), owner, {}, stream->get(), far_pool_).to_arrow();
  EXPECT_EQ(locate(other->array.buffers[1]), (memory_location{ARROW_DEVICE_CUDA, 1}));
  // The current resource is replaced by that of the other device, but another one is not.
  auto managed = sim::pool_resource{memory_kind::managed, 0};
  rmm::mr::set_per_device_resource(rmm::cuda_device_id{0}, managed);
  auto const text =
    message_of([&] { (void)to_arrow_device(owner->view(), owner, {}, stream->get(), pool_); });
  expect_in("the columns are in memory of CUDA device 1", text);
  expect_in("and the memory resource allocates in memory of CUDA device 0", text);
  EXPECT_EQ(rmm::get_current_cuda_device().value(), 0);
}

TEST_F(ExportOrder, AnotherThreadFreesConvertedBuffersAfterTheConversion)
{
  static constexpr auto size = 8;
  for_seeds(many_seeds, [&](unsigned seed) {
    // The freeing thread waits only if `cudaStreamWaitEvent` fails, here with every second seed.
    auto const waits = std::size_t{seed % 2};
    auto exported    = export_rows(flat("bool8"), rows(size, number(1)), cudaStreamPerThread);
    auto others      = std::vector<rmm::device_buffer>{};
    std::thread{[&] {
      if (seed % 4 >= 2) { exported = exported.slice(2, 4, false); }
      auto const before = sim::host_syncs_here();
      if (waits > 0) { sim::fail_next("cudaStreamWaitEvent", cudaErrorInvalidValue); }
      exported.reset();
      EXPECT_EQ(sim::host_syncs_here() - before, waits);
      EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
      for (auto count = 0; count < 4; ++count) {
        auto& other = others.emplace_back(std::size_t{size}, cudaStreamPerThread, pool_);
        sim::enqueue(cudaStreamPerThread, [data = other.data()] { std::memset(data, 5, size); });
      }
    }}.join();
    sim::drain();
    for (auto const& other : others) {
      auto const* bytes = static_cast<std::byte const*>(other.data());
      EXPECT_EQ(std::count(bytes, bytes + size, std::byte{5}), size);
    }
  });
}

TEST_F(ExportOrder, AnotherThreadFreesTheSourceAfterTheExportingThreadsReads)
{
  for_seeds(many_seeds, [&] {
    auto const values = integers_t{1, 2, 3, 4};
    auto source       = integer_column(cudaStreamPerThread, values);
    auto const view   = source->view();
    auto exported     = to_arrow(std::move(source), cudaStreamPerThread);
    auto const seen   = read_later(view, flat("int32"), cudaStreamPerThread);
    auto other        = rmm::device_buffer{};
    std::thread{[&] {
      auto const before = sim::host_syncs_here();
      exported.reset();
      EXPECT_EQ(sim::host_syncs_here(), before);
      other = rmm::device_buffer{16, cudaStreamPerThread, pool_};
      sim::enqueue(cudaStreamPerThread, [&] { std::memset(other.data(), 5, other.size()); });
    }}.join();
    sim::drain();
    EXPECT_EQ(*seen, integer_rows(values));
  });
}

TEST_F(ExportOrder, EventsAreReusedAfterAnExportIsReleased)
{
  auto const stream = lasting_stream{};
  auto const owner  = integer_column(stream.get());
  (void)to_arrow(owner, stream.get());
  auto const events = sim::live_events();
  for (auto i = 0; i < 500; ++i) {
    auto const array = to_arrow(owner, stream.get()).to_arrow();
    EXPECT_EQ(detail::events_in_use(), 1U);
  }
  EXPECT_EQ(sim::live_events(), events);
  EXPECT_EQ(detail::events_in_use(), 0U);
}

TEST_F(ExportOrder, LiveExportsHaveDifferentEvents)
{
  auto const stream = lasting_stream{};
  auto const owner  = integer_column(stream.get());
  {
    auto const idle = std::pair{to_arrow(owner, stream.get()), to_arrow(owner, stream.get())};
  }
  auto const one = to_arrow(owner, stream.get()).to_arrow();
  auto const two = to_arrow(owner, stream.get()).to_arrow();
  EXPECT_NE(event_of(one), event_of(two));
}

TEST_F(ExportOrder, FailedExportFreesItsMemoryAndItsEvent)
{
  auto const stream = lasting_stream{};
  for (auto const* function : {"cudaEventCreateWithFlags", "cudaEventRecord"}) {
    auto const none  = empty_pool{};
    auto const owner = column(flat("bool8"), samples(flat("bool8"), 9, 30), stream.get());
    auto const live  = sim::live_allocations();
    auto const used  = detail::events_in_use();
    sim::fail_next(function, cudaErrorInvalidValue);
    EXPECT_THROW((void)to_arrow(owner, stream.get()), rmm::cuda_error);
    EXPECT_EQ(owner.use_count(), 1);
    EXPECT_EQ(sim::live_allocations(), live);
    EXPECT_EQ(detail::events_in_use(), used);
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
