// SPDX-License-Identifier: Apache-2.0
/// @file
/// Arrays of this library are released immediately. Their memory is freed after the last read.
#include "sim/tests/bridge_test.hpp"

#include <cudf_arrow_bridge/ordering.hpp>

#include <optional>
#include <thread>

namespace cudf_arrow_bridge::test {
namespace {

class ReleaseInOrder : public bridge_test {
 protected:
  /// Exports integers. `watch_` observes the column, which frees its memory on `stream`.
  unique_device_array export_integers(cudaStream_t stream, integers_t const& values)
  {
    auto owner                    = integer_column(stream, values);
    watch_                        = owner;
    auto const view               = owner->view();
    auto options                  = export_options{};
    options.owner_frees_on_stream = true;
    return to_arrow_device(view, std::move(owner), options, stream, pool_).to_arrow();
  }

  imported_column import_copy(producer& source, cudaStream_t stream)
  { return import(source, stream, {.copy = copy_policy::always}); }

  std::weak_ptr<cudf::column> watch_;
};

TEST_F(ReleaseInOrder, OwnerIsDestroyedBeforeTheReaderHasRun)
{
  for_seeds(many_seeds, [&](cudaStream_t made, cudaStream_t reader) {
    auto array        = export_integers(made, {1, 2, 3, 4});
    auto imported     = import(array, flat("int32"), reader);
    auto slow         = std::optional<sim::slow_stream>{reader};
    auto const seen   = read_later(imported.view(), flat("int32"), reader);
    auto const before = sim::host_syncs_here();
    imported.storage.reset();
    EXPECT_TRUE(watch_.expired());
    EXPECT_EQ(sim::host_syncs_here(), before);
    slow.reset();
    settle();
    EXPECT_EQ(*seen, integer_rows({1, 2, 3, 4}));
  });
}

TEST_F(ReleaseInOrder, MemoryOfACopyIsReusedByTheNextCopy)
{
  auto const stream = lasting_stream{};
  auto const slow   = sim::slow_stream{stream.get()};
  auto last         = std::optional<void const*>{};
  for (auto i = 0; i < 10; ++i) {
    auto source              = producer{stream.get()};
    auto imported            = import_copy(source, stream.get());
    auto const* const memory = imported.view().head<void>();
    EXPECT_EQ(last.value_or(memory), memory);
    last = memory;
  }
}

TEST_F(ReleaseInOrder, CopiesAreReadBeforeTheirMemoryIsReused)
{
  for_seeds(many_seeds, [&](cudaStream_t stream, cudaStream_t reader) {
    auto seen = std::vector<late_rows>{};
    for (auto i = 0; i < 3; ++i) {
      auto source   = producer{stream, {i, i + 1, i + 2}};
      auto imported = import_copy(source, stream);
      order_after(reader, stream);
      seen.push_back(read_later(imported.view(), flat("int32"), reader));
      imported.storage->release().data->set_stream(reader);
    }
    settle();
    for (auto i = 0; i < 3; ++i) { EXPECT_EQ(*seen[i], integer_rows({i, i + 1, i + 2})); }
  });
}

TEST_F(ReleaseInOrder, FailedStreamWaitKeepsTheOwnerUntilTheReaderHasRun)
{
  auto const made   = lasting_stream{};
  auto const reader = lasting_stream{};
  auto array        = export_integers(made.get(), {1, 2});
  auto imported     = import(array, flat("int32"), reader.get());
  auto slow         = std::optional<sim::slow_stream>{reader.get()};
  auto const seen   = read_later(imported.view(), flat("int32"), reader.get());
  sim::fail_next("cudaStreamWaitEvent", cudaErrorInvalidValue);
  imported.storage.reset();
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_FALSE(watch_.expired());
  slow.reset();
  drain_releases();
  EXPECT_TRUE(watch_.expired());
  EXPECT_EQ(*seen, integer_rows({1, 2}));
}

TEST_F(ReleaseInOrder, DefaultStreamsAreOnTheDeviceOfTheExport)
{
  for_seeds(many_seeds, [&](cudaStream_t reader) {
    auto array      = export_integers(cudaStreamLegacy, {1, 2, 3});
    auto borrowed   = import(array, flat("int32"), reader, {.borrow = true});
    auto slow       = std::optional<sim::slow_stream>{reader};
    auto const seen = read_later(borrowed.view(), flat("int32"), reader);
    {
      auto const elsewhere = on_device{rmm::cuda_device_id{1}};
      borrowed             = {};
    }
    // The next writes on the legacy stream of device 0 must run after the read.
    auto const next = integer_column(cudaStreamLegacy, {7, 8, 9});
    slow.reset();
    settle();
    synchronize(reader);
    EXPECT_EQ(*seen, integer_rows({1, 2, 3}));
  });
}

TEST_F(ReleaseInOrder, AnotherThreadFreesTheCopyAfterTheReader)
{
  for_seeds(many_seeds, [&](cudaStream_t reader) {
    auto const made = cudaStreamPerThread;
    auto source     = producer{made, {4, 5, 6}};
    auto imported   = import_copy(source, made);
    order_after(reader, made);
    auto const seen = read_later(imported.view(), flat("int32"), reader);
    std::thread{[&] {
      imported.storage->release().data->set_stream(reader);
      auto next = rmm::device_buffer{64, made, pool_};
      sim::enqueue(made, [target = next.data()] { std::memset(target, 0x55, 64); });
      synchronize(made);
    }}.join();
    settle();
    EXPECT_EQ(*seen, integer_rows({4, 5, 6}));
  });
}

TEST_F(ReleaseInOrder, OwnerWithUnknownStreamIsKeptUntilTheReaderHasRun)
{
  auto const made   = lasting_stream{};
  auto const reader = lasting_stream{};
  auto owner        = integer_column(made.get(), {1, 2});
  auto const watch  = std::weak_ptr{owner};
  auto array        = to_arrow(std::move(owner), made.get()).to_arrow();
  auto imported     = import(array, flat("int32"), reader.get());
  auto slow         = std::optional<sim::slow_stream>{reader.get()};
  sim::enqueue(reader.get(), [] {});
  imported.storage.reset();
  sim::drain();
  EXPECT_FALSE(watch.expired()) << "the stream that frees the memory is unknown";
  slow.reset();
  drain_releases();
  EXPECT_TRUE(watch.expired());
}

/// A failure callback of rmm uses the result to decide whether to retry an allocation.
TEST_F(ReleaseInOrder, DrainReleasesReturnsTrueOnceAfterARelease)
{
  auto const stream = lasting_stream{};
  auto source       = producer{stream.get()};
  auto imported     = import(source, stream.get());
  drain_releases();
  EXPECT_FALSE(drain_releases());
  imported.storage.reset();
  EXPECT_TRUE(drain_releases());
  EXPECT_EQ(source.released(), 1);
  EXPECT_FALSE(drain_releases());
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
