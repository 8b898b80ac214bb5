// SPDX-License-Identifier: Apache-2.0
/// @file
/// A producer is released after all queued reads of its memory.
#include "sim/tests/bridge_test.hpp"

#include <rmm/error.hpp>

#include <optional>

namespace cudf_arrow_bridge::test {
namespace {

class ReleaseOrder : public bridge_test {};

TEST_F(ReleaseOrder, WaitsForTheStreamThatTheColumnIsFreedOn)
{
  for_seeds(many_seeds, [&](cudaStream_t far, cudaStream_t stream) {
    auto source       = producer{far};
    auto imported     = import(source, stream);
    auto slow         = std::optional<sim::slow_stream>{stream};
    auto const seen   = read_later(imported.view(), flat("int32"), stream);
    auto const before = sim::host_syncs_here();
    imported.storage.reset();
    EXPECT_EQ(sim::host_syncs_here(), before);
    sim::drain();
    EXPECT_EQ(source.released(), 0);
    slow.reset();
    drain_releases();
    EXPECT_EQ(source.released(), 1);
    EXPECT_EQ(*seen, integer_rows({1, 2, 3, 4}));
  });
}

TEST_F(ReleaseOrder, WaitsForTheStreamOfABorrowedTable)
{
  auto const type   = struct_of({flat("int32"), flat("string")});
  auto const values = samples(type, 20, 0);
  for_seeds(many_seeds, [&](cudaStream_t far, cudaStream_t stream) {
    auto const source = column(type, values, far);
    auto array        = to_arrow(source, far).to_arrow();
    auto borrowed     = import_table(array, type, stream, {.borrow = true});
    for (auto const& one : borrowed.columns) { ASSERT_EQ(one.storage, nullptr); }
    auto slow         = std::optional<sim::slow_stream>{stream};
    auto const seen   = read_later(borrowed.columns[0].view(), flat("int32"), stream);
    auto const before = sim::host_syncs_here();
    borrowed.columns.clear();
    EXPECT_EQ(sim::host_syncs_here(), before);
    sim::drain();
    EXPECT_GT(source.use_count(), 1);
    slow.reset();
    drain_releases();
    EXPECT_EQ(source.use_count(), 1);
    EXPECT_EQ(*seen, field_rows(values, 0, {}));
  });
}

TEST_F(ReleaseOrder, WaitsForTheLastBufferThatIsFreedOnAStream)
{
  auto const type   = struct_of({flat("int32"), flat("int32")});
  auto const stream = lasting_stream{};
  auto owner        = column(type, samples(type, 9, 0), stream.get());
  auto const watch  = std::weak_ptr{owner};
  auto array        = to_arrow(std::move(owner), stream.get()).to_arrow();
  auto imported     = import(array, type, stream.get());
  synchronize(stream.get());
  auto fields = std::move(imported.storage->release().children);
  fields.pop_back();
  synchronize(stream.get());
  auto slow = std::optional<sim::slow_stream>{stream.get()};
  sim::enqueue(stream.get(), [] {});
  fields.clear();
  sim::drain();
  EXPECT_FALSE(watch.expired());
  slow.reset();
  drain_releases();
  EXPECT_TRUE(watch.expired());
}

TEST_F(ReleaseOrder, UsesOneEventPerStreamForAnyNumberOfBuffers)
{
  auto const type   = struct_of(std::vector<shape>(50, flat("int32")));
  auto const stream = lasting_stream{};
  auto array        = export_rows(type, samples(type, 9, 0), stream.get()).to_arrow();
  auto imported     = import(array, type, stream.get());
  EXPECT_EQ(detail::events_in_use(), 2U);
  auto slow = std::optional<sim::slow_stream>{stream.get()};
  imported.storage.reset();
  EXPECT_EQ(detail::events_in_use(), 2U);
  slow.reset();
}

TEST_F(ReleaseOrder, FreeingAColumnCreatesNoEvent)
{
  auto const stream = lasting_stream{};
  auto source       = producer{stream.get()};
  auto imported     = import(source, stream.get());
  auto const none   = empty_pool{};
  auto const events = sim::calls("cudaEventCreateWithFlags");
  imported.storage.reset();
  EXPECT_EQ(sim::calls("cudaEventCreateWithFlags"), events);
}

TEST_F(ReleaseOrder, StreamCanBeDestroyedBeforeTheRelease)
{
  auto stream   = std::make_unique<sim::stream>();
  auto source   = producer{stream->get()};
  auto imported = import(source, stream->get());
  sim::hold(stream->get());
  auto const handle = stream->get();
  auto const seen   = read_later(imported.view(), flat("int32"), handle);
  imported.storage.reset();
  EXPECT_EQ(source.released(), 0);
  sim::release(handle);
  stream.reset();
  drain_releases();
  EXPECT_EQ(source.released(), 1);
  EXPECT_EQ(*seen, integer_rows({1, 2, 3, 4}));
}

TEST_F(ReleaseOrder, StreamsCanBeDestroyedAfterDrainReleases)
{
  auto const type = flat("bool8");
  auto far        = std::make_unique<sim::stream>();
  auto near       = std::make_unique<sim::stream>();
  auto array      = export_rows(type, samples(type, 9, 0), far->get()).to_arrow();
  auto imported   = import(array, type, near->get(), {.copy = copy_policy::always});
  imported.storage.reset();
  drain_releases();
  EXPECT_EQ(sim::live_allocations(), 0U);
  far.reset();
  near.reset();
}

TEST_F(ReleaseOrder, FailedImportReleasesTheArray)
{
  auto const type   = flat("string");
  auto const far    = lasting_stream{};
  auto const stream = lasting_stream{};
  auto owner        = column(type, samples(type, 9, 0), far.get());
  auto const watch  = std::weak_ptr{owner};
  auto array        = to_arrow(std::move(owner), far.get()).to_arrow();
  sim::fail_next("cudaMemcpyAsync", cudaErrorInvalidValue);
  EXPECT_THROW((void)import(array, type, stream.get()), rmm::cuda_error);
  drain_releases();
  EXPECT_TRUE(watch.expired());
}

TEST_F(ReleaseOrder, HostWaitsIfRecordingTheEventOfAFreeFails)
{
  for (auto const* function : {"cudaEventRecord", "cudaStreamGetId"}) {
    for_seeds(many_seeds, [&](cudaStream_t stream) {
      auto source     = producer{stream};
      auto imported   = import(source, stream);
      auto const seen = read_later(imported.view(), flat("int32"), stream);
      sim::fail_next(function, cudaErrorInvalidValue);
      imported.storage.reset();
      EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
      settle();
      EXPECT_EQ(source.released(), 1);
      EXPECT_EQ(*seen, integer_rows({1, 2, 3, 4}));
    });
  }
}

TEST_F(ReleaseOrder, HostWaitsIfASecondEventCannotBeCreated)
{
  auto const type = struct_of({flat("int32"), flat("int32")});
  auto const one  = lasting_stream{};
  auto const two  = lasting_stream{};
  auto array      = export_rows(type, samples(type, 9, 0), one.get()).to_arrow();
  auto imported   = import(array, type, one.get());
  synchronize(one.get());
  auto fields     = std::move(imported.storage->release().children);
  auto const none = empty_pool{};
  fields.pop_back();
  auto ran = false;
  sim::enqueue(two.get(), [&] { ran = true; });
  sim::fail_next("cudaEventCreateWithFlags", cudaErrorMemoryAllocation);
  fields.back()->release().data->set_stream(two.get());
  fields.back().reset();
  EXPECT_TRUE(ran);
}

TEST_F(ReleaseOrder, ImportDoesNotConsumeTheArrayIfNoEventCanBeCreated)
{
  auto const stream = lasting_stream{};
  auto source       = producer{stream.get()};
  synchronize(stream.get());
  auto const none = empty_pool{};
  sim::fail_next("cudaEventCreateWithFlags", cudaErrorMemoryAllocation);
  EXPECT_THROW((void)import(source, stream.get()), rmm::cuda_error);
  EXPECT_EQ(source.released(), 0);
  EXPECT_NE(source.array.array.release, nullptr);
}

TEST_F(ReleaseOrder, ResizedBufferReleasesTheProducerOnce)
{
  if (!sim::simulates_copies_of_rmm) { GTEST_SKIP() << "rmm calls CUDA"; }
  auto const stream = lasting_stream{};
  auto source       = producer{stream.get()};
  auto imported     = import(source, stream.get());
  auto data         = std::move(imported.storage->release().data);
  for (auto size = std::size_t{64}; size < 4096; size *= 2) {
    data->resize(size, stream.get());
    settle();
    EXPECT_EQ(source.released(), 1);
  }
  auto const seen = read_later({cudf::data_type{cudf::type_id::INT32}, 4, data->data(), nullptr, 0},
                               flat("int32"),
                               stream.get());
  data.reset();
  synchronize(stream.get());
  EXPECT_EQ(*seen, integer_rows({1, 2, 3, 4}));
}

TEST_F(ReleaseOrder, ProducerIsReleasedAfterAStickyError)
{
  auto const stream = lasting_stream{};
  auto source       = producer{stream.get()};
  auto imported     = import(source, stream.get());
  synchronize(stream.get());  // the simulation does not stop work after an error
  source.when_released([] { sim::fail_all(cudaSuccess); });
  sim::fail_all(cudaErrorIllegalAddress);
  imported.storage.reset();
  drain_releases();
  sim::fail_all(cudaSuccess);
  EXPECT_EQ(source.released(), 1);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
