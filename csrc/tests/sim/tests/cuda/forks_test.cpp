// SPDX-License-Identifier: Apache-2.0
/// @file
/// Forked children leave what their parent imported alone, and release what they import.
#include "cuda/release/deferred_release.hpp"
#include "sim/tests/bridge_test.hpp"
#include "testing/poll_fences.hpp"

#include <cudf_arrow_bridge/fences.hpp>

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>

namespace cudf_arrow_bridge::test {
namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

constexpr auto long_enough = 25s;  ///< but shorter than the time limit of a drain

#ifdef __SANITIZE_THREAD__
constexpr auto threads_in_children = false;  ///< it aborts children that start threads
#else
constexpr auto threads_in_children = true;
#endif

class Forks : public bridge_test {
 protected:
  /// Imports and frees an array of the child. @return Whether it was released after its reader
  bool releases_an_import()
  {
    auto const stream = sim::stream{};
    auto source       = producer{stream.get()};
    auto imported     = import(source, stream.get());
    auto const seen   = read_later(imported.view(), flat("int32"), stream.get());
    imported.storage.reset();
    drain_releases();
    return source.released() == 1 && *seen == integer_rows({1, 2, 3, 4}) &&
           detail::events_in_use() == 0;
  }
};

/// Forks and runs `child` there. @return Whether it returned true in time
template <typename Child>
bool ends_well(Child child)
{
  auto const start = clock_type::now();
  auto const pid   = fork();
  if (pid == 0) {
    alarm(60);  // ends the child if it hangs
    _exit(child() ? 0 : 1);
  }
  auto status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (clock_type::now() - start > long_enough) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return false;
    }
    std::this_thread::sleep_for(1ms);
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(Forks, LeaveDeviceMemoryAlone)
{
  auto const stream = lasting_stream{};
  auto source       = producer{stream.get()};
  auto pending      = producer{stream.get()};
  auto imported     = import(source, stream.get());
  auto exported     = to_arrow(integer_column(stream.get()), stream.get());
  auto freed        = import(pending, stream.get());
  auto slow         = std::optional<sim::slow_stream>{stream.get()};
  freed.storage.reset();
  EXPECT_TRUE(ends_well([&] {
    auto const used  = detail::events_in_use();
    auto const calls = sim::calls("cudaStreamGetId");
    imported.storage.reset();
    drain_releases();
    return detail::events_in_use() == used && sim::calls("cudaStreamGetId") == calls &&
           source.released() == 0;
  }));
  EXPECT_EQ(source.released(), 0);
  slow.reset();
}

TEST_F(Forks, GiveNoEventBack)
{
  auto event = std::optional{detail::pooled_event::acquire()};
  EXPECT_TRUE(ends_well([&] {
    event.reset();
    return detail::events_in_use() == 0;
  }));
}

TEST_F(Forks, UseNoThreadAndNoEventOfTheirParents)
{
  if (!threads_in_children) { GTEST_SKIP() << "no threads in children under this sanitizer"; }
  EXPECT_TRUE(releases_an_import());
  EXPECT_TRUE(ends_well([&] {
    auto const made = sim::calls("cudaEventCreateWithFlags");
    // The producer's own event is one of them.
    return releases_an_import() && sim::calls("cudaEventCreateWithFlags") > made + 1 &&
           ends_well([&] { return releases_an_import(); });
  }));
}

/// @return Whether no method of a parent's set does anything
bool has_no_fences(fence_set fences, fence_id pending, cudaStream_t stream)
{
  auto const refuses = [](auto method) { return !message_of<std::logic_error>(method).empty(); };
  auto const was_pending = fences.cancel(pending);
  fences.complete(pending);
  fences.wake();
  return !was_pending && fences.num_pending() == 0 && refuses([&] { (void)fences.add(); }) &&
         refuses([&] { (void)fences.add(stream); }) && refuses([&] { (void)fences.poll(); });
}

TEST_F(Forks, HaveNoFencesOfTheirParents)
{
  auto const stream  = lasting_stream{};
  auto fences        = fence_set::make();
  auto const pending = fences.add();
  auto const told    = fences.add();
  EXPECT_TRUE(ends_well([&] { return has_no_fences(fences, pending, stream.get()); }));
  EXPECT_EQ(fences.num_pending(), 2U);
  auto polled = pollfd{fences.fileno(), POLLIN, 0};
  EXPECT_EQ(::poll(&polled, 1, 0), 0);
  fences.complete(told);
  EXPECT_TRUE(ends_well([&] { return has_no_fences(fences, pending, stream.get()); }));
  ASSERT_EQ(fences.poll().size(), 1U);
  EXPECT_TRUE(fences.cancel(pending));
}

TEST_F(Forks, HaveFencesOfTheirOwn)
{
  if (!threads_in_children) { GTEST_SKIP() << "no threads in children under this sanitizer"; }
  auto const reaches = [] {
    auto const stream = sim::stream{};
    auto fences       = fence_set::make();
    auto const fence  = fences.add(stream.get());
    auto const told   = poll_for(fences, 20s);
    detail::drain_fences();
    return told.size() == 1 && told.front().fence == fence &&
           told.front().state == fence_state::reached && detail::events_in_use() == 0;
  };
  EXPECT_TRUE(reaches());
  EXPECT_TRUE(ends_well(reaches));
}

TEST_F(Forks, PinMemoryOfTheirOwnAndUploadWithout)
{
  if (!threads_in_children) { GTEST_SKIP() << "no threads in children under this sanitizer"; }
  auto const upload = [&](int value) {
    auto const stream = sim::stream{};
    auto const host   = std::shared_ptr{make_column(flat("int32"), {number(value)})};
    auto array        = to_arrow_device(host->view(), host, {}, stream.get(), pool_).to_arrow();
    auto imported     = import(array, flat("int32"), stream.get());
    auto const seen   = read_later(imported.view(), flat("int32"), stream.get());
    synchronize(stream.get());
    imported.storage.reset();
    drain_releases();
    return *seen == integer_rows({value});
  };
  EXPECT_TRUE(upload(1));
  EXPECT_TRUE(ends_well([&] {
    auto const pinned = sim::calls("cudaHostAlloc");
    sim::fail_next("cudaHostAlloc", cudaErrorMemoryAllocation);
    return upload(2) && cudaPeekAtLastError() == cudaSuccess && upload(3) &&
           sim::calls("cudaHostAlloc") == pinned + 2;
  }));
}

TEST_F(Forks, PinMemoryWithoutInvalidatingCaptures)
{
  EXPECT_TRUE(ends_well([] {
    auto const captured = sim::stream{};
    auto capture        = sim::stream_capture{captured.get()};
    auto const pinned   = detail::pinned_memory{1};
    return pinned.data() != nullptr && capture.end().has_value();
  }));
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
