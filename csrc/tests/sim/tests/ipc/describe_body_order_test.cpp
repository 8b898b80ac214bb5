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

class ipc_describe : public bridge_test {
 protected:
  /// Exports a slice of a column on its stream. The array keeps the column alive.
  device_array export_slice(shape const& type,
                            rows const& values,
                            int begin,
                            cudaStream_t stream,
                            rmm::device_async_resource_ref mr)
  {
    auto const owner =
      std::shared_ptr<cudf::column>{upload_column(make_column(type, values), stream, mr)};
    auto const view =
      slice_later(owner->view(), begin, part(values, static_cast<std::size_t>(begin), num_rows));
    return to_arrow_device(view, owner, {}, cuda::stream_ref{stream}, mr);
  }

  device_array export_slice(shape const& type, rows const& values, int begin, cudaStream_t stream)
  { return export_slice(type, values, begin, stream, pool_); }

  ipc_body describe(device_array const& array, cudaStream_t stream)
  { return describe_body(array, false, cuda::stream_ref{stream}, pool_); }

  /// @return The contents of the body if the same rows are in host memory
  static std::vector<std::byte> expected(shape const& type, rows const& values, int begin)
  {
    auto const column = make_column(type, values);
    auto const array  = to_arrow_device(
      slice(*column, begin, num_rows), nullptr, {}, test::stream(), host_memory_resource());
    return contents_of(describe_body(array, false, test::stream(), host_memory_resource()));
  }
};

TEST_F(ipc_describe, reads_the_array_after_its_event)
{
  for (auto const& type : shapes_of_each_layout()) {
    auto const values = samples(type, num_rows, 30);
    for (auto const begin : {0, 5, 16}) {
      auto const bytes = expected(type, values, begin);
      for (auto seed = 0U; seed < many_seeds / 2; ++seed) {
        sim::reset(seed);
        auto const made  = lasting_stream{};
        auto const used  = lasting_stream{};
        auto const array = export_slice(type, values, begin, made.get());
        auto const body  = describe(array, used.get());
        auto const seen  = read_later(body, used.get());
        synchronize(used.get());
        ASSERT_EQ(*seen, bytes) << type.name << " from " << begin << ", seed " << seed;
      }
    }
  }
}

TEST_F(ipc_describe, waits_once_per_level)
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

TEST_F(ipc_describe, does_not_wait_for_a_decoded_batch)
{
  auto const type   = struct_of({list_of(list_of(flat("string"))), flat("bool8")});
  auto const source = produced_batch{type, samples(type, num_rows, 30)};
  auto const stream = lasting_stream{};
  auto const batch  = device_batch{source, stream.get()};
  auto const array  = batch.decode(body_checks::sizes, stream.get());
  auto const slow   = sim::slow_stream{stream.get()};
  auto const waits  = sim::host_syncs_here();
  auto const body   = describe_body(array, true, cuda::stream_ref{stream.get()}, pool_);
  EXPECT_EQ(sim::host_syncs_here(), waits);
  for (std::size_t i = 0; i < body.buffers.size(); ++i) {
    EXPECT_EQ(body.buffers[i].address, batch.parts.buffers[i].address);
  }
}

TEST_F(ipc_describe, does_not_wait_for_its_copies)
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

TEST_F(ipc_describe, counts_the_nulls_of_a_sliced_child)
{
  auto const type   = struct_of({flat("int8")});
  auto const values = rows{{rows{number(1)}}, {rows{{}}}, {rows{{}}}, {rows{number(4)}}};
  auto const stream = lasting_stream{};
  auto const column = upload_column(make_column(type, values), stream.get(), pool_);
  auto const view   = slice_later(column->view(), 2, part(values, 2, 4));
  auto const array  = to_arrow_device(view, nullptr, {}, cuda::stream_ref{stream.get()}, pool_);
  auto const body   = describe(array, stream.get());
  ASSERT_EQ(body.nodes.size(), 2U);
  EXPECT_EQ(body.nodes[1].null_count, 1);
}

TEST_F(ipc_describe, keeps_the_source_until_its_copies_have_run)
{
  for (auto const begin : {3, 32}) {
    auto const values      = samples(flat("int32"), num_rows, 30);
    auto const stream      = lasting_stream{};
    auto const is_released = std::make_shared<bool>(false);
    auto array             = device_array{};
    {
      auto const column = std::shared_ptr<cudf::column>{
        upload_column(make_column(flat("int32"), values), stream.get(), pool_)};
      auto owner = std::shared_ptr<void const>{
        column.get(), [column, is_released](void const*) { *is_released = true; }};
      array = to_arrow_device(
        slice_later(column->view(), begin, part(values, static_cast<std::size_t>(begin), 56)),
        std::move(owner),
        {},
        cuda::stream_ref{stream.get()},
        pool_);
    }
    auto slow = std::optional<sim::slow_stream>{stream.get()};
    (void)describe(array, stream.get());
    array.reset();
    // The copy of the mask has not run. A mask that begins with a word and ends with a byte is not
    // copied.
    EXPECT_EQ(*is_released, begin == 32);
    slow.reset();
    settle();
    EXPECT_TRUE(*is_released);
  }
}

TEST_F(ipc_describe, body_keeps_its_memory_alive)
{
  auto const source = produced_batch{flat("string"), samples(flat("string"), num_rows, 30)};
  auto const stream = lasting_stream{};
  auto alive        = std::weak_ptr<void const>{};
  auto body         = ipc_body{};
  {
    auto batch = device_batch{source, stream.get()};
    alive      = batch.memory.owner;
    body       = describe_body(
      batch.decode(body_checks::sizes, stream.get()), true, cuda::stream_ref{stream.get()}, pool_);
  }
  EXPECT_FALSE(alive.expired());
  body = {};
  EXPECT_TRUE(alive.expired());
}

TEST_F(ipc_describe, works_on_the_memorys_device)
{
  rmm::mr::set_per_device_resource(rmm::cuda_device_id{0}, pool_);
  rmm::mr::set_per_device_resource(rmm::cuda_device_id{1}, far_pool_);
  {
    auto const type   = list_of(flat("string"));
    auto const values = samples(type, num_rows, 30);
    auto const stream = stream_on(1);
    auto guard        = std::optional<on_device>{std::in_place, rmm::cuda_device_id{1}};
    auto const array  = export_slice(type, values, 3, stream->get(), far_pool_);
    guard.reset();
    auto const mr   = rmm::mr::get_current_device_resource_ref();
    auto const body = describe_body(array, false, cuda::stream_ref{stream->get()}, mr);
    for (auto const& buffer : body.buffers) {
      if (buffer.size == 0) { continue; }
      EXPECT_EQ(locate(buffer.address), (memory_location{ARROW_DEVICE_CUDA, 1}));
    }
    guard.emplace(rmm::cuda_device_id{1});
    auto const seen = read_later(body, stream->get());
    synchronize(stream->get());
    EXPECT_EQ(*seen, expected(type, values, 3));
  }
  settle();
  rmm::mr::reset_per_device_resource(rmm::cuda_device_id{0});
  rmm::mr::reset_per_device_resource(rmm::cuda_device_id{1});
}

TEST_F(ipc_describe, body_is_complete_after_wait)
{
  for (auto const& type : shapes_of_each_layout()) {
    auto const values = samples(type, num_rows, 30);
    for (auto const begin : {0, 5}) {
      auto const bytes = expected(type, values, begin);
      for (auto seed = 0U; seed < many_seeds / 2; ++seed) {
        sim::reset(seed);
        auto const made  = lasting_stream{};
        auto const used  = lasting_stream{};
        auto const array = export_slice(type, values, begin, made.get());
        auto const body  = describe(array, used.get());
        body.wait(cuda::stream_ref{used.get()});
        ASSERT_EQ(contents_of(body), bytes) << type.name << " from " << begin << ", seed " << seed;
      }
    }
  }
}

TEST_F(ipc_describe, wait_does_not_include_other_streams)
{
  auto const values = samples(flat("int32"), num_rows, 30);
  auto const other  = lasting_stream{};
  auto const stream = lasting_stream{};
  auto const slow   = sim::slow_stream{other.get()};
  sim::enqueue(other.get(), [] {});
  auto const body  = describe(export_slice(flat("int32"), values, 3, stream.get()), stream.get());
  auto const waits = sim::host_syncs_here();
  body.wait(cuda::stream_ref{stream.get()});
  EXPECT_EQ(sim::host_syncs_here(), waits + 1);
  EXPECT_EQ(contents_of(body), expected(flat("int32"), values, 3));
}

TEST_F(ipc_describe, wait_uses_the_memorys_device)
{
  auto const values = samples(flat("int32"), num_rows, 30);
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const stream = stream_on(1);
    auto guard        = std::optional<on_device>{std::in_place, rmm::cuda_device_id{1}};
    auto const array  = export_slice(flat("int32"), values, 3, stream->get(), far_pool_);
    guard.reset();
    // The default stream of the body's device, not that of the current one.
    auto const body = describe_body(array, false, test::stream(), far_pool_);
    body.wait(test::stream());
    EXPECT_EQ(rmm::get_current_cuda_device().value(), 0);
    ASSERT_EQ(contents_of(body), expected(flat("int32"), values, 3)) << "seed " << seed;
  }
}

TEST_F(ipc_describe, wait_includes_managed_and_pinned_memory_but_not_host_memory)
{
  auto const values = samples(flat("int32"), num_rows, 30);
  for (auto const kind : {memory_kind::managed, memory_kind::pinned}) {
    auto pool         = sim::pool_resource{kind, 0};
    auto const stream = lasting_stream{};
    auto const body =
      describe(export_slice(flat("int32"), values, 3, stream.get(), pool), stream.get());
    body.wait(cuda::stream_ref{stream.get()});
    EXPECT_EQ(contents_of(body), expected(flat("int32"), values, 3));
  }
  auto const stream = lasting_stream{};
  auto const slow   = sim::slow_stream{stream.get()};
  sim::enqueue(stream.get(), [] {});
  auto const host  = std::shared_ptr<cudf::column>{make_column(flat("int32"), values)};
  auto const array = to_arrow_device(host->view(), host, {}, test::stream(), pool_);
  describe(array, stream.get()).wait(cuda::stream_ref{stream.get()});  // does not need the stream
}

TEST_F(ipc_describe, wait_reports_cuda_errors)
{
  auto const values = samples(flat("int32"), num_rows, 30);
  auto const stream = lasting_stream{};
  auto const body   = describe(export_slice(flat("int32"), values, 3, stream.get()), stream.get());
  sim::fail_next("cudaStreamSynchronize", cudaErrorInvalidValue);
  EXPECT_THROW(body.wait(cuda::stream_ref{stream.get()}), rmm::cuda_error);
  (void)cudaGetLastError();
}

TEST_F(ipc_describe, copies_use_the_current_resource_of_the_memorys_device)
{
  auto far = sim::pool_resource{memory_kind::managed, 1};
  rmm::mr::set_per_device_resource(rmm::cuda_device_id{0}, pool_);
  rmm::mr::set_per_device_resource(rmm::cuda_device_id{1}, far);
  {
    auto const values = samples(flat("int32"), num_rows, 30);
    auto const stream = stream_on(1);
    auto guard        = std::optional<on_device>{std::in_place, rmm::cuda_device_id{1}};
    auto const array  = export_slice(flat("int32"), values, 3, stream->get(), far);
    guard.reset();
    auto const mr   = rmm::mr::get_current_device_resource_ref();
    auto const body = describe_body(array, false, cuda::stream_ref{stream->get()}, mr);
    EXPECT_EQ(body.location, (memory_location{ARROW_DEVICE_CUDA_MANAGED, 1}));
    EXPECT_EQ(locate(body.buffers[0].address), body.location) << "the mask is a copy";
    body.wait(cuda::stream_ref{stream->get()});
  }
  settle();
  rmm::mr::reset_per_device_resource(rmm::cuda_device_id{0});
  rmm::mr::reset_per_device_resource(rmm::cuda_device_id{1});
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
