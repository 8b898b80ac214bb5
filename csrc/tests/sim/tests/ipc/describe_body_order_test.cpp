// SPDX-License-Identifier: Apache-2.0
/// @file
/// Bodies in device memory are read after the work that fills them, with few waits.
#include "sim/tests/ipc/device_batch.hpp"

#include <cudf_arrow_bridge/export.hpp>

#include <rmm/error.hpp>
#include <rmm/mr/per_device_resource.hpp>

#include <optional>
#include <stdexcept>

namespace cudf_arrow_bridge::test {
namespace {

constexpr auto num_rows = 60;

class IpcDescribe : public bridge_test {
 protected:
  /// Exports the rows from `begin` of a column that kernels fill. The array keeps the column alive.
  device_array export_slice(shape const& type,
                            rows const& values,
                            int begin,
                            cudaStream_t stream,
                            rmm::device_async_resource_ref mr)
  {
    auto const owner = late_column(type, values, stream, mr);
    auto const rest  = part(values, static_cast<std::size_t>(begin), num_rows);
    return to_arrow_device(slice_later(owner->view(), begin, rest), owner, {}, stream, mr);
  }

  device_array export_slice(shape const& type, rows const& values, int begin, cudaStream_t stream)
  { return export_slice(type, values, begin, stream, pool_); }

  ipc_body describe(device_array const& array, cudaStream_t stream)
  { return describe_body(array, false, stream, pool_); }

  /// @return The contents of the body if the same rows are in host memory
  static std::vector<std::byte> expected(shape const& type, rows const& values, int begin)
  {
    auto const column = make_column(type, values);
    auto const array  = to_arrow_device(
      slice(*column, begin, num_rows), nullptr, {}, test::stream(), host_memory_resource());
    return contents_of(describe_body(array, false, test::stream(), host_memory_resource()));
  }

  rows const integers_{samples(flat("int32"), num_rows, 30)};
};

TEST_F(IpcDescribe, ReadsTheArrayAfterItsEventAndIsCompleteAfterWait)
{
  for (auto const& type : shapes_of_each_layout()) {
    auto const values = samples(type, num_rows, 30);
    for (auto const begin : {0, 5, 16}) {
      auto const bytes = expected(type, values, begin);
      for_seeds(many_seeds / 2, [&](cudaStream_t made, cudaStream_t used) {
        auto const array = export_slice(type, values, begin, made);
        auto const body  = describe(array, used);
        auto const seen  = read_later(body, used);
        body.wait(used);
        EXPECT_EQ(contents_of(body), bytes) << type.name << " from " << begin;
        EXPECT_EQ(*seen, bytes) << type.name << " from " << begin;
      });
    }
  }
}

TEST_F(IpcDescribe, WaitsOncePerLevel)
{
  auto const lists  = list_of(list_of(flat("string")));
  auto const type   = struct_of({lists, lists, flat("string"), list_of(flat("int8"))});
  auto const values = samples(type, num_rows, 0);
  auto const stream = lasting_stream{};
  auto const array  = export_slice(type, values, 16, stream.get());
  auto const waits  = sim::host_syncs_here();
  auto const body   = describe(array, stream.get());
  EXPECT_EQ(sim::host_syncs_here(), waits + 3);
}

TEST_F(IpcDescribe, DoesNotWaitForADecodedBatch)
{
  auto const type   = struct_of({list_of(list_of(flat("string"))), flat("bool8")});
  auto const source = produced_batch{type, samples(type, num_rows, 30)};
  auto const stream = lasting_stream{};
  auto const batch  = device_batch{source, stream.get()};
  auto const array  = batch.decode(body_checks::sizes, stream.get());
  auto const slow   = sim::slow_stream{stream.get()};
  auto const waits  = sim::host_syncs_here();
  auto const body   = describe_body(array, true, stream.get(), pool_);
  EXPECT_EQ(sim::host_syncs_here(), waits);
  for (std::size_t i = 0; i < body.buffers.size(); ++i) {
    EXPECT_EQ(body.buffers[i].address, batch.parts.buffers[i].address);
  }
}

TEST_F(IpcDescribe, DoesNotWaitForItsCopies)
{
  auto const stream = lasting_stream{};
  for (auto const* name : {"int32", "bool8"}) {
    auto const values = samples(flat(name), num_rows, 30);
    auto const array  = export_slice(flat(name), values, 3, stream.get());
    auto slow         = std::optional<sim::slow_stream>{stream.get()};
    auto const waits  = sim::host_syncs_here();
    auto const body   = describe(array, stream.get());
    EXPECT_EQ(sim::host_syncs_here(), waits);
    auto const seen = read_later(body, stream.get());
    slow.reset();
    synchronize(stream.get());
    EXPECT_EQ(*seen, expected(flat(name), values, 3));
  }
}

TEST_F(IpcDescribe, CountsTheNullsOfASlicedChild)
{
  auto const type   = struct_of({flat("int8")});
  auto const values = rows{{rows{number(1)}}, {rows{{}}}, {rows{{}}}, {rows{number(4)}}};
  auto const stream = lasting_stream{};
  auto const source = column(type, values, stream.get());
  auto const view   = slice_later(source->view(), 2, part(values, 2, 4));
  auto const array  = to_arrow_device(view, nullptr, {}, stream.get(), pool_);
  auto const body   = describe(array, stream.get());
  ASSERT_EQ(body.nodes.size(), 2U);
  EXPECT_EQ(body.nodes[1].null_count, 1);
}

TEST_F(IpcDescribe, KeepsTheSourceUntilItsCopiesHaveRun)
{
  for (auto const begin : {3, 32}) {
    auto const stream  = lasting_stream{};
    auto source        = column(flat("int32"), integers_, stream.get());
    auto const watched = std::weak_ptr{source};
    auto const slice =
      slice_later(source->view(), begin, part(integers_, static_cast<std::size_t>(begin), 56));
    auto array = to_arrow_device(slice, std::move(source), {}, stream.get(), pool_);
    auto slow  = std::optional<sim::slow_stream>{stream.get()};
    (void)describe(array, stream.get());
    array.reset();
    // The copy of the mask has not run. A mask that begins with a word and ends with a byte is not
    // copied.
    EXPECT_EQ(watched.expired(), begin == 32);
    slow.reset();
    settle();
    EXPECT_TRUE(watched.expired());
  }
}

TEST_F(IpcDescribe, BodyKeepsItsMemoryAlive)
{
  auto const source = produced_batch{flat("string"), samples(flat("string"), num_rows, 30)};
  auto const stream = lasting_stream{};
  auto alive        = std::weak_ptr<void const>{};
  auto body         = ipc_body{};
  {
    auto batch = device_batch{source, stream.get()};
    alive      = batch.memory.owner;
    body = describe_body(batch.decode(body_checks::sizes, stream.get()), true, stream.get(), pool_);
  }
  EXPECT_FALSE(alive.expired());
  body = {};
  EXPECT_TRUE(alive.expired());
}

TEST_F(IpcDescribe, WorksOnTheMemorysDevice)
{
  auto const type   = list_of(flat("string"));
  auto const values = samples(type, num_rows, 30);
  auto managed      = sim::pool_resource{memory_kind::managed, 1};
  for (auto const& [far, label] :
       {std::pair{&far_pool_, ARROW_DEVICE_CUDA}, std::pair{&managed, ARROW_DEVICE_CUDA_MANAGED}}) {
    rmm::mr::set_per_device_resource(rmm::cuda_device_id{1}, *far);
    for_seeds(many_seeds, [&] {
      auto const made = stream_on(1);
      // The default stream of the body's device, not that of the current one.
      for (auto* const stream : {made->get(), cudaStream_t{}}) {
        auto guard       = std::optional<on_device>{std::in_place, rmm::cuda_device_id{1}};
        auto const array = export_slice(type, values, 3, stream, *far);
        guard.reset();
        auto const mr   = rmm::mr::get_current_device_resource_ref();
        auto const body = describe_body(array, false, stream, mr);
        EXPECT_EQ(body.location, (memory_location{label, 1}));
        for (auto const& buffer : body.buffers) {
          if (buffer.size > 0) { EXPECT_EQ(locate(buffer.address), body.location); }
        }
        body.wait(stream);
        EXPECT_EQ(rmm::get_current_cuda_device().value(), 0);
        EXPECT_EQ(contents_of(body), expected(type, values, 3));
      }
    });
  }
}

TEST_F(IpcDescribe, WaitDoesNotIncludeOtherStreams)
{
  auto const other  = lasting_stream{};
  auto const stream = lasting_stream{};
  auto const slow   = sim::slow_stream{other.get()};
  sim::enqueue(other.get(), [] {});
  auto const array = export_slice(flat("int32"), integers_, 3, stream.get());
  auto const body  = describe(array, stream.get());
  auto const waits = sim::host_syncs_here();
  body.wait(stream.get());
  EXPECT_EQ(sim::host_syncs_here(), waits + 1);
  EXPECT_EQ(contents_of(body), expected(flat("int32"), integers_, 3));
  sim::fail_next("cudaStreamSynchronize", cudaErrorInvalidValue);
  EXPECT_THROW(body.wait(stream.get()), rmm::cuda_error);
  (void)cudaGetLastError();
}

TEST_F(IpcDescribe, WaitIncludesManagedAndPinnedMemoryButNotHostMemory)
{
  auto const stream = lasting_stream{};
  for (auto const kind : {memory_kind::managed, memory_kind::pinned}) {
    auto pool        = sim::pool_resource{kind, 0};
    auto const array = export_slice(flat("int32"), integers_, 3, stream.get(), pool);
    auto const body  = describe(array, stream.get());
    body.wait(stream.get());
    EXPECT_EQ(contents_of(body), expected(flat("int32"), integers_, 3));
  }
  auto const slow = sim::slow_stream{stream.get()};
  sim::enqueue(stream.get(), [] {});
  auto const host = std::shared_ptr{make_column(flat("int32"), integers_)};
  describe(to_arrow(host, stream.get()), stream.get()).wait(stream.get());  // does not need it
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
