// SPDX-License-Identifier: Apache-2.0
#include "sim/world_test.hpp"

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using sim::enqueue;
using sim::stream;

class streams : public sim::world_test {
 protected:
  /// @return A kernel that records its execution
  auto note(char name)
  {
    return [this, name] { order_ += name; };
  }

  std::string order_;
};

TEST_F(streams, run_their_kernels_in_order)
{
  for (auto seed = 0U; seed < 50; ++seed) {
    sim::reset(seed);
    order_.clear();
    auto const one = stream{};
    for (auto const name : std::string{"abcdefgh"}) { enqueue(one.get(), note(name)); }
    EXPECT_EQ(cudaStreamSynchronize(one.get()), cudaSuccess);
    EXPECT_EQ(order_, "abcdefgh");
  }
}

TEST_F(streams, some_kernels_run_after_the_launch_returns)
{
  auto late = 0;
  for (auto seed = 0U; seed < 100; ++seed) {
    sim::reset(seed);
    auto const one = stream{};
    auto ran       = false;
    enqueue(one.get(), [&] { ran = true; });
    late += ran ? 0 : 1;
    sim::drain();
  }
  EXPECT_GT(late, 30);
  EXPECT_LT(late, 100);
}

TEST_F(streams, interleaving_depends_on_the_seed_and_is_reproducible)
{
  auto const run = [&](std::uint64_t seed) {
    sim::reset(seed);
    order_.clear();
    auto const one = stream{};
    auto const two = stream{};
    for (auto const name : std::string{"abc"}) { enqueue(one.get(), note(name)); }
    for (auto const name : std::string{"xyz"}) { enqueue(two.get(), note(name)); }
    sim::drain();
    return std::pair{order_, sim::history()};
  };
  auto seen = std::set<std::string>{};
  for (auto seed = 0U; seed < 200; ++seed) {
    auto const first = run(seed);
    EXPECT_EQ(run(seed), first);
    seen.insert(first.first);
  }
  // Two sequences of three kernels have 20 interleavings.
  EXPECT_GE(seen.size(), 18U);
}

TEST_F(streams, each_stream_runs_on_its_own_thread)
{
  auto const one = stream{};
  auto const two = stream{};
  auto threads   = std::vector<std::thread::id>{};
  for (auto const* s : {&one, &two, &one}) {
    enqueue(s->get(), [&] { threads.push_back(std::this_thread::get_id()); });
    EXPECT_EQ(cudaStreamSynchronize(s->get()), cudaSuccess);
  }
  EXPECT_NE(threads[0], threads[1]);
  EXPECT_EQ(threads[0], threads[2]);
  EXPECT_NE(threads[0], std::this_thread::get_id());
}

TEST_F(streams, legacy_stream_is_ordered_with_blocking_streams)
{
  for (auto seed = 0U; seed < 100; ++seed) {
    sim::reset(seed);
    order_.clear();
    auto const blocking = stream{cudaStreamDefault};
    enqueue(blocking.get(), note('a'));
    enqueue(cudaStream_t{}, note('b'));
    enqueue(blocking.get(), note('c'));
    enqueue(cudaStreamLegacy, note('d'));
    enqueue(cudaStreamPerThread, note('e'));
    sim::drain();
    EXPECT_EQ(order_, "abcde");
  }
}

TEST_F(streams, each_thread_has_its_own_default_stream)
{
  auto seen = std::set<std::string>{};
  auto ids  = std::set<unsigned long long>{};
  for (auto seed = 0U; seed < 100; ++seed) {
    sim::reset(seed);
    order_.clear();
    ids.clear();
    for (auto const name : std::string{"abc"}) {
      // The operating system may reuse thread ids, but each thread must have its own stream.
      std::thread{[&] {
        enqueue(cudaStreamPerThread, note(name));
        auto id = 0ULL;
        EXPECT_EQ(cudaStreamGetId(cudaStreamPerThread, &id), cudaSuccess);
        ids.insert(id);
      }}.join();
    }
    sim::drain();
    seen.insert(order_);
    EXPECT_EQ(ids.size(), 3U);
  }
  EXPECT_GT(seen.size(), 1U);
}

TEST_F(streams, legacy_stream_is_ordered_with_per_thread_default_streams)
{
  for (auto seed = 0U; seed < 100; ++seed) {
    sim::reset(seed);
    order_.clear();
    std::thread{[&] { enqueue(cudaStreamPerThread, note('a')); }}.join();
    enqueue(cudaStreamLegacy, note('b'));
    std::thread{[&] { enqueue(cudaStreamPerThread, note('c')); }}.join();
    sim::drain();
    EXPECT_EQ(order_, "abc");
  }
}

TEST_F(streams, legacy_stream_is_not_ordered_with_non_blocking_streams)
{
  auto seen = std::set<std::string>{};
  for (auto seed = 0U; seed < 100; ++seed) {
    sim::reset(seed);
    order_.clear();
    auto const free = stream{};
    enqueue(free.get(), note('a'));
    enqueue(cudaStream_t{}, note('b'));
    sim::drain();
    seen.insert(order_);
  }
  EXPECT_EQ(seen, (std::set<std::string>{"ab", "ba"}));
}

TEST_F(streams, each_device_has_its_own_legacy_stream)
{
  auto const slow = sim::slow_stream{cudaStream_t{}};
  enqueue(cudaStream_t{}, note('a'));
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  enqueue(cudaStream_t{}, note('b'));
  EXPECT_EQ(cudaStreamSynchronize(cudaStream_t{}), cudaSuccess);
  EXPECT_EQ(order_, "b");
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
}

TEST_F(streams, held_stream_does_not_run_until_its_release)
{
  auto const one = stream{};
  auto const two = stream{};
  {
    auto const slow = sim::slow_stream{one.get()};
    enqueue(one.get(), note('a'));
    enqueue(two.get(), note('b'));
    sim::drain();
    EXPECT_EQ(order_, "b");
    EXPECT_EQ(cudaStreamQuery(one.get()), cudaErrorNotReady);
    EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady);
  }
  EXPECT_EQ(cudaStreamSynchronize(one.get()), cudaSuccess);
  EXPECT_EQ(order_, "ba");
}

TEST_F(streams, queries_advance_the_stream)
{
  auto const one = stream{};
  enqueue(one.get(), note('a'));
  while (cudaStreamQuery(one.get()) == cudaErrorNotReady) {}
  EXPECT_EQ(order_, "a");
}

TEST_F(streams, progress_while_the_program_makes_no_calls)
{
  auto const one = stream{};
  auto ran       = std::atomic<bool>{false};
  enqueue(one.get(), [&] {
    ran = true;
    ran.notify_one();
  });
  ran.wait(false);
  SUCCEED();
}

TEST_F(streams, destroyed_stream_runs_its_queued_kernels)
{
  auto handle = [&] {
    auto const one = stream{};
    enqueue(one.get(), note('a'));
    return one.get();
  }();
  EXPECT_EQ(cudaStreamQuery(handle), cudaErrorInvalidResourceHandle);
  EXPECT_THROW(enqueue(handle, note('b')), std::runtime_error);
  sim::drain();
  EXPECT_EQ(order_, "a");
  auto const another = stream{};
  EXPECT_NE(another.get(), handle);
}

TEST_F(streams, belong_to_the_device_current_at_their_creation)
{
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  auto const one = stream{};
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  auto device = -1;
  EXPECT_EQ(cudaStreamGetDevice(one.get(), &device), cudaSuccess);
  EXPECT_EQ(device, 1);
  EXPECT_THROW(enqueue(one.get(), note('a')), std::runtime_error);
  EXPECT_EQ(cudaStreamSynchronize(one.get()), cudaSuccess);
}

TEST_F(streams, have_the_flags_of_their_creation)
{
  auto const one      = stream{};
  auto const blocking = stream{cudaStreamDefault};
  auto flags          = 7U;
  EXPECT_EQ(cudaStreamGetFlags(one.get(), &flags), cudaSuccess);
  EXPECT_EQ(flags, cudaStreamNonBlocking);
  for (auto const& handle :
       {blocking.get(), cudaStream_t{}, cudaStreamLegacy, cudaStreamPerThread}) {
    flags = 7U;
    EXPECT_EQ(cudaStreamGetFlags(handle, &flags), cudaSuccess);
    EXPECT_EQ(flags, cudaStreamDefault);
  }
}

TEST_F(streams, have_different_ids)
{
  auto const one = stream{};
  auto ids       = std::set<unsigned long long>{};
  for (auto const& handle : {one.get(), cudaStreamLegacy, cudaStreamPerThread}) {
    auto id = 0ULL;
    EXPECT_EQ(cudaStreamGetId(handle, &id), cudaSuccess);
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 3U);
}

TEST_F(streams, host_functions_must_not_call_cuda)
{
  auto const one = stream{};
  auto status    = cudaSuccess;
  EXPECT_EQ(cudaLaunchHostFunc(
              one.get(),
              [](void* result) { *static_cast<cudaError_t*>(result) = cudaFree(nullptr); },
              &status),
            cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(one.get()), cudaSuccess);
  EXPECT_EQ(status, cudaErrorNotPermitted);
  EXPECT_EQ(sim::take_violations().size(), 1U);
}

TEST_F(streams, run_kernels_of_several_host_threads)
{
  constexpr auto num_threads = 4;
  constexpr auto num_kernels = 50;
  auto threads               = std::vector<std::thread>{};
  auto totals                = std::vector<int>(num_threads);
  for (auto& total : totals) {
    threads.emplace_back([&] {
      auto const mine = stream{};
      for (auto i = 0; i < num_kernels; ++i) {
        enqueue(mine.get(), [&total] { ++total; });
      }
      EXPECT_EQ(cudaStreamSynchronize(mine.get()), cudaSuccess);
      EXPECT_EQ(total, num_kernels);
    });
  }
  for (auto& thread : threads) { thread.join(); }
}

}  // namespace
