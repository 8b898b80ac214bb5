// SPDX-License-Identifier: Apache-2.0
#include "testing/columns.hpp"
#include "testing/poll_fences.hpp"
#include "testing/sample.hpp"
#include "testing/views.hpp"

#include <cudf_arrow_bridge/export.hpp>
#include <cudf_arrow_bridge/fences.hpp>
#include <cudf_arrow_bridge/memory.hpp>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace cudf_arrow_bridge {

inline bool operator==(fence_result const& one, fence_result const& other)
{ return one.fence == other.fence && one.state == other.state && one.error == other.error; }

namespace test {
namespace {

using namespace std::chrono_literals;
using results = std::vector<fence_result>;

fence_result reached(fence_id fence) { return {fence, fence_state::reached, cudaSuccess}; }

fence_result cancelled(fence_id fence) { return {fence, fence_state::cancelled, cudaSuccess}; }

bool is_readable(fence_set const& fences)
{
  auto polled = pollfd{fences.fileno(), POLLIN, 0};
  return ::poll(&polled, 1, 0) == 1;
}

TEST(Fences, AreReportedOnceInTheOrderOfCompletion)
{
  auto fences       = fence_set::make();
  auto const first  = fences.add();
  auto const second = fences.add();
  auto const third  = fences.add();
  EXPECT_EQ(fences.num_pending(), 3U);
  EXPECT_EQ(fences.poll(), results{});
  fences.complete(second);
  EXPECT_TRUE(fences.cancel(third));
  EXPECT_EQ(fences.num_pending(), 1U);
  fences.complete(first);
  EXPECT_EQ(fences.num_pending(), 0U);
  EXPECT_EQ(fences.poll(), (results{reached(second), cancelled(third), reached(first)}));
  EXPECT_EQ(fences.poll(), results{});
}

TEST(Fences, CompleteOnlyOnce)
{
  auto fences      = fence_set::make();
  auto const fence = fences.add();
  fences.complete(fence);
  EXPECT_FALSE(fences.cancel(fence));
  fences.complete(fence);
  EXPECT_EQ(fences.poll(), results{reached(fence)});
  EXPECT_FALSE(fences.cancel(fence));
  fences.complete(fence);
  EXPECT_FALSE(fences.cancel(fence + 1));
  EXPECT_EQ(fences.poll(), results{});
}

TEST(Fences, DescriptorIsReadableWhileAResultOrWakeIsPending)
{
  auto fences       = fence_set::make();
  auto const first  = fences.add();
  auto const second = fences.add();
  EXPECT_FALSE(is_readable(fences));
  fences.complete(first);
  EXPECT_TRUE(is_readable(fences));
  EXPECT_TRUE(fences.cancel(second));
  EXPECT_EQ(fences.poll().size(), 2U);
  EXPECT_FALSE(is_readable(fences));
  fences.wake();
  fences.wake();
  EXPECT_TRUE(is_readable(fences));
  EXPECT_EQ(fences.poll(), results{});
  EXPECT_FALSE(is_readable(fences));
  EXPECT_EQ(fences.poll(), results{});
}

TEST(Fences, CopiesShareTheSet)
{
  auto fences      = fence_set::make();
  auto copy        = fences;
  auto const fence = copy.add();
  fences.complete(fence);
  EXPECT_EQ(copy.fileno(), fences.fileno());
  EXPECT_EQ(copy.poll(), results{reached(fence)});
  EXPECT_FALSE(is_readable(fences));
}

TEST(Fences, EachResultGoesToOnePollingThread)
{
  constexpr auto num_fences = 20'000U;
  auto fences               = fence_set::make();
  auto told                 = std::array<results, 4>{};
  auto left                 = std::atomic<int>{num_fences};
  auto threads              = std::vector<std::thread>{};
  for (auto& mine : told) {
    threads.emplace_back([&] {
      while (left > 0) {
        for (auto const& result : poll_for(fences, 10s)) {
          mine.push_back(result);
          --left;
        }
      }
      fences.wake();  // the next waiting thread
    });
  }
  for (auto i = 0U; i < num_fences; ++i) {
    auto const fence = fences.add();
    if (i % 3 == 0) {
      EXPECT_TRUE(fences.cancel(fence));
    } else {
      fences.complete(fence);
    }
  }
  for (auto& thread : threads) { thread.join(); }
  auto all = std::set<fence_id>{};
  for (auto const& mine : told) {
    for (auto const& result : mine) { EXPECT_TRUE(all.insert(result.fence).second); }
  }
  EXPECT_EQ(all.size(), num_fences);
}

TEST(Fences, ConcurrentCompleteAndCancelReportOneState)
{
  auto fences = fence_set::make();
  for (auto round = 0; round < 200; ++round) {
    auto const fence = fences.add();
    auto start       = std::atomic<bool>{false};
    auto won         = std::atomic<int>{0};
    auto threads     = std::vector<std::thread>{};
    for (auto i = 0; i < 3; ++i) {
      threads.emplace_back([&, i] {
        while (!start) {}
        if (i == 0) {
          fences.complete(fence);
        } else {
          won += fences.cancel(fence) ? 1 : 0;
        }
      });
    }
    start = true;
    for (auto& thread : threads) { thread.join(); }
    EXPECT_LE(won, 1);
    EXPECT_EQ(fences.poll(), results{won == 1 ? cancelled(fence) : reached(fence)});
    EXPECT_FALSE(is_readable(fences));
  }
}

TEST(Fences, DestructionClosesTheDescriptorOfPendingFences)
{
  auto fences      = fence_set::make();
  auto const first = fences.fileno();
  fences.complete(fences.add());
  (void)fences.add();
  fences = fence_set::make();
  fences = fence_set{};
  // The descriptor was closed, so the next set gets the same number.
  EXPECT_EQ(fence_set::make().fileno(), first);
}

TEST(Fences, MakeThrowsWithoutAFreeDescriptor)
{
#ifdef __SANITIZE_ADDRESS__
  // UndefinedBehaviorSanitizer opens a pipe to check whether it can read an exception.
  GTEST_SKIP() << "the sanitizers need descriptors, too";
#endif
  auto before = rlimit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  auto const none = rlimit{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_THROW((void)fence_set::make(), std::system_error);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(Fences, AreReachedAtOnceWithoutAGpu)
{
  if (has_gpu()) { GTEST_SKIP() << "there is a GPU"; }
  auto fences      = fence_set::make();
  auto const fence = fences.add(stream());
  EXPECT_EQ(fences.num_pending(), 0U);
  EXPECT_EQ(fences.poll(), results{reached(fence)});
}

TEST(Fences, OfCpuMemoryAreReachedAtOnce)
{
  auto const column = std::shared_ptr<cudf::column>{make_column(flat("int32"), {number(1)})};
  auto array        = to_arrow_device(column->view(), column, {}, stream(), host_memory_resource());
  auto const users  = column.use_count();
  auto fences       = fence_set::make();
  EXPECT_TRUE(array.is_ready());
  auto const fence = array.add_fence(fences);
  EXPECT_EQ(fences.poll(), results{reached(fence)});
  EXPECT_EQ(column.use_count(), users);
  array.reset();
  EXPECT_THROW((void)array.is_ready(), std::invalid_argument);
  EXPECT_THROW((void)array.add_fence(fences), std::invalid_argument);
  EXPECT_EQ(column.use_count(), 1);
}

TEST(Fences, ErrorTextBeginsWithTheNameOfTheError)
{ EXPECT_EQ(error_text(cudaErrorInvalidValue).find("cudaErrorInvalidValue: "), 0U); }

}  // namespace
}  // namespace test
}  // namespace cudf_arrow_bridge
