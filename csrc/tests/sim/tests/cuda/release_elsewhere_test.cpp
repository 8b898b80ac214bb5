// SPDX-License-Identifier: Apache-2.0
/// @file
/// Columns may be freed while another device is current, or on another thread than the importing
/// thread. There, the handles of default streams refer to other streams.
#include "arrays/foreign_array.hpp"
#include "sim/tests/bridge_test.hpp"

#include <optional>
#include <thread>

namespace cudf_arrow_bridge::test {
namespace {

class ReleaseElsewhere : public bridge_test {
 protected:
  /// A share of an array of four integers on device 1, as a borrowed table holds it.
  static std::shared_ptr<detail::foreign_array> borrow(producer& source, cudaStream_t stream)
  { return detail::foreign_array::own(&source.array, false, stream); }

  /// Imports and reads a column on this thread's default stream, and frees it on another thread.
  template <typename Free>
  void import_here_and_free_elsewhere(Free free)
  {
    auto source     = producer{cudaStreamPerThread};
    auto imported   = import(source, cudaStreamPerThread);
    auto const seen = read_later(imported.view(), flat("int32"), cudaStreamPerThread);
    std::thread{[&] { free(imported); }}.join();
    settle();
    EXPECT_EQ(source.released(), 1);
    EXPECT_EQ(*seen, integer_rows({1, 2, 3, 4}));
  }

  static cudf::column_view values_of(producer const& source)
  { return {cudf::data_type{cudf::type_id::INT32}, 4, source.data(), nullptr, 0}; }
};

TEST_F(ReleaseElsewhere, WaitsForTheDefaultStreamsOfTheMemorysDevice)
{
  for (auto const kind : {memory_kind::device, memory_kind::managed}) {
    for (auto const stream : {cudaStream_t{}, cudaStreamLegacy, cudaStreamPerThread}) {
      for_seeds(many_seeds, [&] {
        auto guard       = std::optional<on_device>{std::in_place, rmm::cuda_device_id{1}};
        auto source      = producer{stream, {1, 2, 3, 4}, kind, 1};
        auto released_on = -1;
        source.when_released([&] { released_on = rmm::get_current_cuda_device().value(); });
        auto share        = borrow(source, stream);
        auto const seen   = read_later(values_of(source), flat("int32"), stream);
        auto const before = sim::host_syncs_here();
        guard.reset();
        share.reset();
        EXPECT_EQ(sim::host_syncs_here(), before);
        EXPECT_EQ(rmm::get_current_cuda_device().value(), 0);
        EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
        settle();
        EXPECT_EQ(source.released(), 1);
        EXPECT_EQ(released_on, 1);
        EXPECT_EQ(*seen, integer_rows({1, 2, 3, 4}));
      });
    }
  }
}

TEST_F(ReleaseElsewhere, FailedEventMakesTheHostWaitAndFreeOnTheMemorysDevice)
{
  for (auto const* function : {"cudaEventRecord", "cudaStreamGetId"}) {
    for_seeds(many_seeds, [&](unsigned seed) {
      auto const kind = seed % 2 == 0 ? memory_kind::device : memory_kind::managed;
      auto guard      = std::optional<on_device>{std::in_place, rmm::cuda_device_id{1}};
      auto source     = producer{cudaStream_t{}, {1, 2, 3, 4}, kind, 1};
      auto share      = borrow(source, cudaStream_t{});
      auto const seen = read_later(values_of(source), flat("int32"), cudaStream_t{});
      auto device     = -1;
      source.when_released([&] { device = rmm::get_current_cuda_device().value(); });
      guard.reset();
      sim::fail_next(function, cudaErrorInvalidValue);
      share.reset();
      settle();
      EXPECT_EQ(source.released(), 1);
      EXPECT_EQ(device, 1);
      EXPECT_EQ(*seen, integer_rows({1, 2, 3, 4}));
    });
  }
}

TEST_F(ReleaseElsewhere, WaitsForTheDefaultStreamOfTheImportingThread)
{
  for_seeds(many_seeds, [&] {
    import_here_and_free_elsewhere([](auto& imported) {
      auto const before = sim::host_syncs_here();
      imported.storage.reset();
      EXPECT_EQ(sim::host_syncs_here(), before);
    });
  });
}

TEST_F(ReleaseElsewhere, FailedEventMakesTheHostWaitForTheImportingThread)
{
  for (auto const* function : {"cudaEventRecord", "cudaStreamGetId"}) {
    for_seeds(many_seeds, [&] {
      import_here_and_free_elsewhere([&](auto& imported) {
        sim::fail_next(function, cudaErrorInvalidValue);
        imported.storage.reset();
      });
    });
  }
}

TEST_F(ReleaseElsewhere, WaitsForTheDefaultStreamOfAFinishedThread)
{
  for_seeds(many_seeds, [&] {
    auto source   = std::optional<producer>{};
    auto imported = imported_column{};
    auto seen     = late_rows{};
    std::thread{[&] {
      source.emplace(cudaStreamPerThread);
      imported = import(*source, cudaStreamPerThread);
      seen     = read_later(imported.view(), flat("int32"), cudaStreamPerThread);
    }}.join();
    std::thread{[&] { imported.storage.reset(); }}.join();
    settle();
    EXPECT_EQ(source->released(), 1);
    EXPECT_EQ(*seen, integer_rows({1, 2, 3, 4}));
  });
}

TEST_F(ReleaseElsewhere, OnTheImportingThreadDoesNotWaitForOtherStreams)
{
  auto const blocking = lasting_stream{cudaStreamDefault};
  auto source         = producer{cudaStreamPerThread};
  auto imported       = import(source, cudaStreamPerThread);
  synchronize(cudaStreamPerThread);
  auto slow = std::optional<sim::slow_stream>{blocking.get()};
  sim::enqueue(blocking.get(), [] {});
  imported.storage.reset();
  drain_releases();
  EXPECT_EQ(source.released(), 1);
  slow.reset();
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
