// SPDX-License-Identifier: Apache-2.0
#include "async/worker_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

using namespace std::chrono_literals;

/// Work whose step is a function of the test. It counts the steps.
class steps : public detail::pooled_work {
 public:
  explicit steps(std::function<bool(steps&)> step) : step_{std::move(step)} {}

  static std::shared_ptr<steps> make(std::function<bool(steps&)> step)
  { return std::make_shared<steps>(std::move(step)); }

  /// @return The number of steps, 5 ms after it reaches `expected` or after a timeout
  [[nodiscard]] int taken(int expected) const
  {
    for (auto i = 0; i < 5'000 && num_taken_ < expected; ++i) { std::this_thread::sleep_for(1ms); }
    std::this_thread::sleep_for(5ms);
    return num_taken_;
  }

 protected:
  bool take_step() noexcept override
  {
    auto const has_more = step_(*this);
    ++num_taken_;
    return has_more;
  }

 private:
  std::function<bool(steps&)> step_;
  std::atomic<int> num_taken_{0};
};

TEST(WorkerPools, RunOneStepForEachSchedule)
{
  auto const work = steps::make([](steps& /*self*/) { return false; });
  for (auto i = 1; i <= 3; ++i) {
    work->schedule();
    EXPECT_EQ(work->taken(i), i);
  }
}

TEST(WorkerPools, RunAnotherStepIfScheduledWithinAStep)
{
  auto left       = std::atomic<int>{3};
  auto const work = steps::make([&](steps& self) {
    if (left-- > 0) { self.schedule(); }
    return false;
  });
  work->schedule();
  EXPECT_EQ(work->taken(4), 4);
}

TEST(WorkerPools, RunOneStepForAllSchedulesDuringAStep)
{
  auto gate       = std::latch{1};
  auto is_inside  = std::latch{1};
  auto num_begun  = std::atomic<int>{0};
  auto const work = steps::make([&](steps& /*self*/) {
    if (num_begun++ == 0) { is_inside.count_down(); }
    gate.wait();
    return false;
  });
  work->schedule();
  is_inside.wait();
  for (auto i = 0; i < 5; ++i) { work->schedule(); }
  gate.count_down();
  EXPECT_EQ(work->taken(2), 2);
}

TEST(WorkerPools, RunOneStepOfAWorkAtATime)
{
  auto num_inside  = std::atomic<int>{0};
  auto most_inside = std::atomic<int>{0};
  auto const work  = steps::make([&](steps& /*self*/) {
    if (++num_inside > 1) { most_inside = 2; }
    std::this_thread::yield();
    --num_inside;
    return false;
  });
  auto askers      = std::vector<std::thread>{};
  for (auto i = 0; i < 4; ++i) {
    askers.emplace_back([&] {
      for (auto j = 0; j < 1000; ++j) { work->schedule(); }
    });
  }
  for (auto& each : askers) { each.join(); }
  EXPECT_GT(work->taken(1), 0);
  EXPECT_EQ(most_inside, 0);
}

TEST(WorkerPools, RepeatStepsOnTheSameThread)
{
  auto mutex      = std::mutex{};
  auto threads    = std::set<std::thread::id>{};
  auto left       = 500;
  auto const work = steps::make([&](steps& /*self*/) {
    auto const lock = std::lock_guard{mutex};
    threads.insert(std::this_thread::get_id());
    return --left > 0;
  });
  work->schedule();
  EXPECT_EQ(work->taken(500), 500);
  auto const lock = std::lock_guard{mutex};
  EXPECT_EQ(threads.size(), 1);
}

TEST(WorkerPools, RunAStepWhileManyOthersWait)
{
  auto gate       = std::latch{1};
  auto num_inside = std::atomic<int>{0};
  auto waiting    = std::vector<std::shared_ptr<steps>>{};
  for (auto i = 0; i < 40; ++i) {
    waiting.push_back(steps::make([&](steps& /*self*/) {
      ++num_inside;
      gate.wait();
      return false;
    }));
    waiting.back()->schedule();
  }
  for (auto i = 0; i < 20'000 && num_inside < 40; ++i) { std::this_thread::sleep_for(1ms); }
  auto const ready = steps::make([](steps& /*self*/) { return false; });
  ready->schedule();
  EXPECT_EQ(ready->taken(1), 1);
  EXPECT_EQ(num_inside, 40);
  gate.count_down();
  for (auto const& each : waiting) { EXPECT_EQ(each->taken(1), 1); }
}

TEST(WorkerPools, RunOnAtMostTheGivenThreads)
{
  // Its threads outlive the test.
  static auto* const pool = new detail::worker_pool{3};
  auto gate               = std::latch{1};
  auto num_inside         = std::atomic<int>{0};
  auto works              = std::vector<std::shared_ptr<steps>>{};
  pool->start();
  for (auto i = 0; i < 5; ++i) {
    works.push_back(steps::make([&](steps& /*self*/) {
      ++num_inside;
      gate.wait();
      return false;
    }));
    pool->push(works.back());
  }
  for (auto i = 0; i < 20'000 && num_inside < 3; ++i) { std::this_thread::sleep_for(1ms); }
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(num_inside, 3);
  gate.count_down();
  for (auto const& each : works) { EXPECT_EQ(each->taken(1), 1); }
}

TEST(WorkerPools, FinishARunningStepWhenTheyStop)
{
  // Its threads outlive the test.
  static auto* const pool = new detail::worker_pool{};
  auto is_inside          = std::latch{1};
  auto is_done            = std::atomic<bool>{false};
  auto const work         = steps::make([&](steps& /*self*/) {
    is_inside.count_down();
    std::this_thread::sleep_for(100ms);
    is_done = true;
    return false;
  });
  auto const late         = steps::make([](steps& /*self*/) { return false; });
  pool->start();
  pool->push(work);
  is_inside.wait();
  pool->stop();
  EXPECT_TRUE(is_done);
  pool->push(late);
  EXPECT_EQ(late->taken(0), 0);
}

TEST(WorkerPools, ReleaseFinishedWork)
{
  auto work       = steps::make([](steps& /*self*/) { return false; });
  auto const seen = std::weak_ptr<steps>{work};
  work->schedule();
  EXPECT_EQ(work->taken(1), 1);
  work.reset();
  for (auto i = 0; i < 20'000 && !seen.expired(); ++i) { std::this_thread::sleep_for(1ms); }
  EXPECT_TRUE(seen.expired());
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
