// SPDX-License-Identifier: Apache-2.0
/// @file
/// Release callbacks may be slow, use CUDA and call the library. An exit waits for releases.
#include "sim/tests/bridge_test.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <thread>

namespace cudf_arrow_bridge::test {
namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

constexpr auto less_than_drain_takes = 25s;  ///< less than the time limit of a drain

class ReleaseCallbacks : public bridge_test {};

TEST_F(ReleaseCallbacks, MayCallTheLibrary)
{
  auto const stream = lasting_stream{};
  auto outer        = producer{stream.get()};
  auto inner        = producer{stream.get(), {7, 8}};
  auto kept         = std::optional<imported_column>{import(inner, stream.get())};
  auto const start  = clock_type::now();
  outer.when_released([&] {
    kept.reset();
    drain_releases();
    auto array = to_arrow(integer_column(stream.get()), stream.get()).to_arrow();
    import(array, flat("int32"), stream.get()).storage.reset();
  });
  import(outer, stream.get()).storage.reset();
  settle();
  EXPECT_EQ(outer.released(), 1);
  EXPECT_EQ(inner.released(), 1);
  EXPECT_LT(clock_type::now() - start, less_than_drain_takes);
}

TEST_F(ReleaseCallbacks, AreCalledImmediatelyIfTheStreamIsIdle)
{
  auto const stream = lasting_stream{};
  auto source       = producer{stream.get()};
  auto thread       = std::thread::id{};
  source.when_released([&] { thread = std::this_thread::get_id(); });
  auto imported = import(source, stream.get());
  synchronize(stream.get());
  auto const recorded = sim::calls("cudaEventRecord");
  imported.storage.reset();
  EXPECT_EQ(source.released(), 1);
  EXPECT_EQ(thread, std::this_thread::get_id());
  EXPECT_EQ(sim::calls("cudaEventRecord"), recorded);
}

/// A kernel on the default stream, which a blocking stream waits for without being told.
TEST_F(ReleaseCallbacks, OfABlockingStreamWaitForTheDefaultStream)
{
  auto const stream = lasting_stream{cudaStreamDefault};
  auto source       = producer{stream.get()};
  auto imported     = import(source, stream.get());
  synchronize(stream.get());
  auto slow       = std::optional<sim::slow_stream>{cudaStreamLegacy};
  auto const seen = read_later(imported.view(), flat("int32"), cudaStreamLegacy);
  imported.storage.reset();
  EXPECT_EQ(source.released(), 0);
  slow.reset();
  drain_releases();
  EXPECT_EQ(source.released(), 1);
  EXPECT_EQ(*seen, integer_rows({1, 2, 3, 4}));
}

TEST_F(ReleaseCallbacks, AreCalledInALaterImport)
{
  auto const stream = lasting_stream{};
  auto const other  = lasting_stream{};
  auto sources      = std::vector<std::unique_ptr<producer>>{};
  auto num_here     = std::atomic<int>{0};
  auto const here   = std::this_thread::get_id();
  for (auto i = 0; i < 200; ++i) {
    sources.push_back(std::make_unique<producer>(stream.get()));
    sources.back()->when_released([&] { num_here += std::this_thread::get_id() == here ? 1 : 0; });
    {
      auto const slow = sim::slow_stream{stream.get()};
      import(*sources.back(), stream.get()).storage.reset();
    }
    synchronize(stream.get());
    sources.push_back(std::make_unique<producer>(other.get()));
    import(*sources.back(), other.get()).storage.reset();
    EXPECT_EQ(rmm::get_current_cuda_device().value(), 0);
  }
  EXPECT_GT(num_here, 0);
  drain_releases();
  for (auto const& source : sources) { EXPECT_EQ(source->released(), 1); }
}

TEST_F(ReleaseCallbacks, OfOneArrayWaitForBuffersFreedByManyThreads)
{
  constexpr auto num_threads = 4U;
  auto const type            = struct_of(std::vector<shape>(2 * num_threads, flat("int32")));
  auto const values          = samples(type, 20, 0);
  for_seeds(many_seeds, [&] {
    auto streams = std::vector<std::unique_ptr<lasting_stream>>{};
    for (auto i = 0U; i < num_threads; ++i) {
      streams.push_back(std::make_unique<lasting_stream>());
    }
    auto* const first = streams.front()->get();
    auto array        = export_rows(type, values, first).to_arrow();
    auto imported     = import(array, type, first);
    synchronize(first);
    auto fields  = std::move(imported.storage->release().children);
    auto late    = std::vector<late_rows>(fields.size());
    auto threads = std::vector<std::thread>{};
    for (auto t = 0U; t < num_threads; ++t) {
      threads.emplace_back([&, t] {
        auto* const stream = streams[t]->get();
        for (auto i = t * 2; i < t * 2 + 2; ++i) {
          late[i] = read_later(fields[i]->view(), flat("int32"), stream);
          fields[i]->release().data->set_stream(stream);
        }
      });
    }
    for (auto& thread : threads) { thread.join(); }
    settle();
    for (auto i = 0U; i < late.size(); ++i) { EXPECT_EQ(*late[i], field_rows(values, i, {})); }
  });
}

using Exits = ReleaseCallbacks;

/// Frees an import and exits before its release. Another thread releases the stream later.
[[noreturn]] void exit_with_a_release_pending()
{
  // These objects are destroyed at exit, after the release that uses them.
  static auto const stream = sim::stream{};
  static auto source       = producer{stream.get()};
  static auto pool         = sim::pool_resource{};
  source.when_released([] { std::fputs("released in time", stderr); });
  sim::hold(stream.get());
  (void)from_arrow_device_column(
    *make_schema(flat("int32")).get(), &source.array, {}, stream.get(), pool);
  std::thread{[] {
    std::this_thread::sleep_for(100ms);
    sim::release(stream.get());
  }}.detach();
  std::exit(0);
}

/// Exits with 0 if one thread of the library releases all imports that are freed one after another.
[[noreturn]] void exit_with_one_thread()
{
  static auto const stream = sim::stream{};
  auto pool                = sim::pool_resource{};
  auto threads             = std::set<std::thread::id>{};
  for (auto i = 0; i < 50; ++i) {
    auto source = producer{stream.get()};
    source.when_released([&] { threads.insert(std::this_thread::get_id()); });
    {
      auto const slow = sim::slow_stream{stream.get()};
      (void)from_arrow_device_column(
        *make_schema(flat("int32")).get(), &source.array, {}, stream.get(), pool);
    }
    drain_releases();
  }
  std::exit(threads.size() == 1 ? 0 : 1);
}

TEST_F(Exits, SequentialReleasesUseOneThread)
{
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(exit_with_one_thread(), testing::ExitedWithCode(0), "");
}

TEST_F(Exits, ExitWaitsForPendingReleases)
{
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(exit_with_a_release_pending(), testing::ExitedWithCode(0), "released in time");
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
