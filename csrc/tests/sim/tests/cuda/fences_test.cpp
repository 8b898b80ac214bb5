// SPDX-License-Identifier: Apache-2.0
/// @file
/// A fence is reported once, after the work before it, and independent of other late work.
#include "cuda/release/deferred_release.hpp"
#include "sim/tests/bridge_test.hpp"
#include "testing/poll_fences.hpp"

#include <cudf_arrow_bridge/fences.hpp>

#include <rmm/error.hpp>

#include <fcntl.h>
#include <poll.h>

#include <chrono>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <thread>

namespace cudf_arrow_bridge::test {
namespace {

using namespace std::chrono_literals;
using results = std::vector<fence_result>;

constexpr auto long_enough_for_all = 20s;  ///< time limit of waits that are expected to succeed

/// Takes `count` results, in the order in which they are reported.
results take(fence_set& fences, std::size_t count)
{
  auto told = results{};
  while (told.size() < count) {
    auto const more = poll_for(fences, long_enough_for_all);
    if (more.empty()) { break; }
    told.insert(told.end(), more.begin(), more.end());
  }
  EXPECT_EQ(told.size(), count);
  return told;
}

/// Expects the next results to be these fences, in this order, as reached.
void expect_reached(fence_set& fences, std::vector<fence_id> const& expected)
{
  auto told = std::vector<fence_id>{};
  for (auto const& result : take(fences, expected.size())) {
    EXPECT_EQ(result.state, fence_state::reached);
    EXPECT_EQ(result.error, cudaSuccess);
    told.push_back(result.fence);
  }
  EXPECT_EQ(told, expected);
}

bool is_readable(fence_set const& fences)
{
  auto polled = pollfd{fences.fileno(), POLLIN, 0};
  return ::poll(&polled, 1, 0) == 1;
}

class Fences : public bridge_test {
 protected:
  void SetUp() override
  {
    bridge_test::SetUp();
    fences_ = fence_set::make();
  }

  void TearDown() override
  {
    fences_ = fence_set{};
    detail::drain_fences();
    bridge_test::TearDown();
  }

  fence_set fences_;
};

TEST_F(Fences, AreReportedAfterTheWorkOfTheirStream)
{
  auto const stream = lasting_stream{};
  auto done         = std::atomic<bool>{false};
  auto slow         = std::optional<sim::slow_stream>{stream.get()};
  sim::enqueue(stream.get(), [&] { done = true; });
  auto const fence = fences_.add(stream.get());
  EXPECT_EQ(poll_for(fences_, 30ms).size(), 0U);
  EXPECT_EQ(fences_.num_pending(), 1U);
  EXPECT_FALSE(is_readable(fences_));
  slow.reset();
  expect_reached(fences_, {fence});
  EXPECT_TRUE(done);
  EXPECT_EQ(fences_.num_pending(), 0U);
  EXPECT_FALSE(is_readable(fences_));
}

TEST_F(Fences, OfOneStreamAreReportedAfterTheirWork)
{
  for_seeds(many_seeds, [&](cudaStream_t stream) {
    auto num_done = std::atomic<std::size_t>{0};
    auto expected = std::vector<fence_id>{};
    for (auto i = 0; i < 20; ++i) {
      sim::enqueue(stream, [&] { ++num_done; });
      expected.push_back(fences_.add(stream));
    }
    auto num_told = std::size_t{0};
    while (num_told < expected.size()) {
      auto const told = poll_for(fences_, long_enough_for_all);
      ASSERT_FALSE(told.empty());
      for (auto const& result : told) {
        auto const found = std::find(expected.begin(), expected.end(), result.fence);
        ASSERT_NE(found, expected.end());
        EXPECT_GT(num_done, static_cast<std::size_t>(found - expected.begin()));
        ++num_told;
      }
    }
    detail::drain_fences();
  });
}

TEST_F(Fences, OfArraysAreReportedWhenTheArrayIsReady)
{
  auto const stream = lasting_stream{};
  auto const prompt = lasting_stream{};
  auto slow         = std::optional<sim::slow_stream>{stream.get()};
  auto array        = to_arrow(integer_column(stream.get()), stream.get());
  auto const first  = array.add_fence(fences_);
  EXPECT_FALSE(array.is_ready());
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  auto other        = to_arrow(integer_column(prompt.get()), prompt.get());
  auto const second = other.add_fence(fences_);
  expect_reached(fences_, {second});
  EXPECT_TRUE(other.is_ready());
  slow.reset();
  expect_reached(fences_, {first});
  EXPECT_TRUE(array.is_ready());
}

TEST_F(Fences, KeepTheirArrayUntilTheyAreReached)
{
  auto const stream = lasting_stream{};
  auto slow         = std::optional<sim::slow_stream>{stream.get()};
  auto column       = integer_column(stream.get());
  auto const watch  = std::weak_ptr{column};
  auto array        = to_arrow(std::move(column), stream.get());
  auto const first  = array.add_fence(fences_);
  auto const second = array.add_fence(fences_);
  array.reset();
  EXPECT_TRUE(fences_.cancel(first));
  EXPECT_EQ(take(fences_, 1).front().state, fence_state::cancelled);
  EXPECT_FALSE(watch.expired());
  slow.reset();
  expect_reached(fences_, {second});
  detail::drain_fences();
  drain_releases();
  EXPECT_TRUE(watch.expired());
}

TEST_F(Fences, SlowReleaseOfAnArrayDoesNotDelayOtherFences)
{
  auto const stream = lasting_stream{};
  auto told         = std::promise<void>{};
  auto in_time      = false;
  {
    auto const column    = integer_column(stream.get());
    auto const wait_long = [&, column](void const*) {
      in_time = told.get_future().wait_for(long_enough_for_all) == std::future_status::ready;
    };
    auto owner = std::shared_ptr<void const>{column.get(), wait_long};
    auto array = to_arrow_device(column->view(), std::move(owner), {}, stream.get(), pool_);
    auto slow  = sim::slow_stream{stream.get()};
    sim::enqueue(stream.get(), [] {});
    (void)array.add_fence(fences_);
    array.reset();
  }
  auto const next = fences_.add(stream.get());
  EXPECT_EQ(take(fences_, 2).back().fence, next);
  told.set_value();
  detail::drain_fences();
  drain_releases();
  EXPECT_TRUE(in_time);
}

TEST_F(Fences, AreReportedOnceAsCancelledOrReached)
{
  constexpr auto num_threads = 3U;
  for_seeds(many_seeds, [&](cudaStream_t one, cudaStream_t other) {
    auto mine = std::vector<fence_id>{};
    for (auto i = 0; i < 30; ++i) {
      auto const stream = i % 2 == 0 ? one : other;
      sim::enqueue(stream, [] {});
      mine.push_back(fences_.add(stream));
    }
    auto won     = std::array<std::set<fence_id>, num_threads>{};
    auto threads = std::vector<std::thread>{};
    for (auto& cancelled : won) {
      threads.emplace_back([&] {
        for (auto const fence : mine) {
          if (fences_.cancel(fence)) { cancelled.insert(fence); }
        }
      });
    }
    auto told = std::map<fence_id, fence_state>{};
    for (auto const& result : take(fences_, mine.size())) {
      EXPECT_TRUE(told.emplace(result.fence, result.state).second);
    }
    for (auto& thread : threads) { thread.join(); }
    for (auto const fence : mine) {
      auto const cancelled =
        std::count_if(won.begin(), won.end(), [=](auto const& all) { return all.contains(fence); });
      EXPECT_EQ(cancelled, told.at(fence) == fence_state::cancelled ? 1 : 0);
    }
    detail::drain_fences();
    EXPECT_EQ(fences_.poll().size(), 0U);
  });
}

TEST_F(Fences, ReportCudaErrors)
{
  auto const stream = lasting_stream{};
  sim::fail_next("cudaEventQuery", cudaErrorLaunchFailure);
  auto const first = fences_.add(stream.get());
  auto const told  = take(fences_, 1);
  EXPECT_EQ(told.front().fence, first);
  EXPECT_EQ(told.front().state, fence_state::failed);
  EXPECT_EQ(told.front().error, cudaErrorLaunchFailure);
  expect_reached(fences_, {fences_.add(stream.get())});
}

TEST_F(Fences, AddFailsIfTheEventCannotBeRecorded)
{
  auto const stream = lasting_stream{};
  auto array        = to_arrow(integer_column(stream.get()), stream.get());
  sim::fail_next("cudaEventRecord", cudaErrorLaunchFailure);
  EXPECT_THROW((void)fences_.add(stream.get()), rmm::cuda_error);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_EQ(fences_.num_pending(), 0U);
  EXPECT_EQ(fences_.poll().size(), 0U);
  expect_reached(fences_, {fences_.add(stream.get())});
  sim::fail_next("cudaEventQuery", cudaErrorLaunchFailure);
  EXPECT_THROW((void)array.is_ready(), rmm::cuda_error);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST_F(Fences, DoNotBlockAThreadInCuda)
{
  auto const stream = lasting_stream{};
  auto const before = sim::host_syncs_here();
  for (auto i = 0; i < 20; ++i) { (void)fences_.add(stream.get()); }
  (void)take(fences_, 20);
  EXPECT_EQ(sim::host_syncs_here(), before);
  EXPECT_EQ(sim::calls("cudaEventSynchronize"), 0U);
  EXPECT_EQ(sim::calls("cudaStreamSynchronize"), 0U);
  EXPECT_EQ(sim::calls("cudaStreamQuery"), 0U);
}

TEST_F(Fences, DestroyedSetDropsItsPendingFences)
{
  auto const stream = lasting_stream{};
  auto slow         = std::optional<sim::slow_stream>{stream.get()};
  auto array        = to_arrow(integer_column(stream.get()), stream.get());
  for (auto i = 0; i < 10; ++i) {
    (void)fences_.add(stream.get());
    (void)array.add_fence(fences_);
  }
  array.reset();
  auto const descriptor = fences_.fileno();
  fences_               = fence_set{};
  EXPECT_EQ(fcntl(descriptor, F_GETFD), -1);
  slow.reset();
  detail::drain_fences();
  settle();
  EXPECT_EQ(detail::events_in_use(), 0U);
}

TEST_F(Fences, WakeEndsPollWhileTheStreamIsLate)
{
  auto const stream = lasting_stream{};
  auto slow         = std::optional<sim::slow_stream>{stream.get()};
  auto const fence  = fences_.add(stream.get());
  auto other        = std::thread{[&] {
    std::this_thread::sleep_for(20ms);
    fences_.wake();
  }};
  EXPECT_EQ(poll_for(fences_, -1ms).size(), 0U);
  other.join();
  slow.reset();
  expect_reached(fences_, {fence});
}

/// Exits while the fence of an array is pending. Another thread releases the stream later.
[[noreturn]] void exit_with_a_fence_pending()
{
  static auto const stream = sim::stream{};
  static auto pool         = sim::pool_resource{};
  static auto set          = fence_set::make();
  auto const column        = late_column(flat("int32"), {number(1)}, stream.get(), pool);
  auto owner = std::shared_ptr<void const>{column.get(),
                                           [column](void const*) { std::fputs("gone", stderr); }};
  sim::hold(stream.get());
  (void)to_arrow_device(column->view(), std::move(owner), {}, stream.get(), pool).add_fence(set);
  std::thread{[] {
    std::this_thread::sleep_for(100ms);
    sim::release(stream.get());
  }}.detach();
  std::exit(0);
}

TEST_F(Fences, ExitWaitsForPendingFences)
{
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(exit_with_a_fence_pending(), testing::ExitedWithCode(0), "gone");
}

/// An event of another library, recorded after the work of a stream.
struct foreign_event {
  explicit foreign_event(cudaStream_t stream)
  {
    EXPECT_EQ(cudaEventCreateWithFlags(&handle, cudaEventDisableTiming), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(handle, stream), cudaSuccess);
  }
  foreign_event(foreign_event const&)            = delete;
  foreign_event& operator=(foreign_event const&) = delete;
  ~foreign_event() { EXPECT_EQ(cudaEventDestroy(handle), cudaSuccess); }

  cudaEvent_t handle{};
};

TEST_F(Fences, OnForeignEventsAreReportedAfterTheEvent)
{
  auto const late   = lasting_stream{};
  auto const stream = lasting_stream{};
  auto slow         = std::optional<sim::slow_stream>{late.get()};
  sim::enqueue(late.get(), [] {});
  auto event         = std::make_shared<foreign_event>(late.get());
  auto const watched = std::weak_ptr{event};
  auto* const handle = event->handle;
  auto const fence   = fences_.add(handle, 0, std::move(event));
  EXPECT_NE(fence, 0U);

  // A fence of another event is reported while the first fence is pending.
  auto slow_too = std::optional<sim::slow_stream>{stream.get()};
  sim::enqueue(stream.get(), [] {});
  auto other             = std::make_shared<foreign_event>(stream.get());
  auto const other_fence = fences_.add(other->handle, 0, other);
  slow_too.reset();
  expect_reached(fences_, {other_fence});
  EXPECT_EQ(fences_.add(other->handle, 0, other), 0U);

  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(watched.lock()->handle, handle);
  slow.reset();
  expect_reached(fences_, {fence});
  detail::drain_fences();
  drain_releases();
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
