// SPDX-License-Identifier: Apache-2.0
#include "sim/world_test.hpp"

#include <set>
#include <string>

namespace {

using sim::enqueue;
using sim::stream;

/// Owns an event.
class event {
 public:
  event() { EXPECT_EQ(cudaEventCreateWithFlags(&handle_, cudaEventDisableTiming), cudaSuccess); }

  ~event() { EXPECT_EQ(cudaEventDestroy(handle_), cudaSuccess); }

  event(event const&)            = delete;
  event& operator=(event const&) = delete;

  [[nodiscard]] cudaEvent_t get() const { return handle_; }

 private:
  cudaEvent_t handle_{};
};

class events : public sim::world_test {
 protected:
  auto note(char name)
  {
    return [this, name] { order_ += name; };
  }

  std::string order_;
};

TEST_F(events, order_one_stream_after_another)
{
  for (auto seed = 0U; seed < 200; ++seed) {
    sim::reset(seed);
    order_.clear();
    auto const one  = stream{};
    auto const two  = stream{};
    auto const done = event{};
    enqueue(one.get(), note('a'));
    EXPECT_EQ(cudaEventRecord(done.get(), one.get()), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(two.get(), done.get()), cudaSuccess);
    enqueue(two.get(), note('b'));
    sim::drain();
    EXPECT_EQ(order_, "ab");
  }
}

TEST_F(events, do_not_order_streams_without_a_wait)
{
  auto seen = std::set<std::string>{};
  for (auto seed = 0U; seed < 50; ++seed) {
    sim::reset(seed);
    order_.clear();
    auto const one  = stream{};
    auto const two  = stream{};
    auto const done = event{};
    enqueue(one.get(), note('a'));
    EXPECT_EQ(cudaEventRecord(done.get(), one.get()), cudaSuccess);
    enqueue(two.get(), note('b'));
    sim::drain();
    seen.insert(order_);
  }
  EXPECT_EQ(seen.size(), 2U);
}

TEST_F(events, are_complete_if_never_recorded)
{
  auto const one   = stream{};
  auto const never = event{};
  EXPECT_EQ(cudaEventQuery(never.get()), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(never.get()), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(one.get(), never.get()), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(one.get()), cudaSuccess);
}

TEST_F(events, wait_uses_the_record_at_the_time_of_the_call)
{
  auto const one    = stream{};
  auto const two    = stream{};
  auto const three  = stream{};
  auto const marker = event{};
  auto const slow   = sim::slow_stream{two.get()};
  enqueue(one.get(), note('a'));
  EXPECT_EQ(cudaEventRecord(marker.get(), one.get()), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(three.get(), marker.get()), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(marker.get(), two.get()), cudaSuccess);
  enqueue(three.get(), note('b'));
  EXPECT_EQ(cudaStreamSynchronize(three.get()), cudaSuccess);
  EXPECT_EQ(order_, "ab");
  EXPECT_EQ(cudaEventQuery(marker.get()), cudaErrorNotReady);
}

TEST_F(events, may_be_destroyed_while_pending)
{
  auto const one = stream{};
  auto const two = stream{};
  {
    auto const slow = sim::slow_stream{one.get()};
    enqueue(one.get(), note('a'));
    auto const marker = event{};
    EXPECT_EQ(cudaEventRecord(marker.get(), one.get()), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(two.get(), marker.get()), cudaSuccess);
    enqueue(two.get(), note('b'));
    sim::drain();
    EXPECT_EQ(order_, "");
  }
  sim::drain();
  EXPECT_EQ(order_, "ab");
}

TEST_F(events, are_recorded_only_on_streams_of_their_device)
{
  auto const on_0 = event{};
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  auto const one = stream{};
  EXPECT_EQ(cudaEventRecord(on_0.get(), one.get()), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(on_0.get(), cudaStream_t{}), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamWaitEvent(one.get(), on_0.get()), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(on_0.get(), cudaStream_t{}), cudaSuccess);
}

TEST_F(events, unknown_handles_are_rejected)
{
  auto const gone    = [] { return event{}.get(); }();
  auto local         = 0;
  auto const garbage = reinterpret_cast<cudaEvent_t>(&local);
  for (auto const& bad : {gone, garbage, cudaEvent_t{}}) {
    EXPECT_EQ(cudaEventRecord(bad, cudaStream_t{}), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaStreamWaitEvent(cudaStream_t{}, bad), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaEventQuery(bad), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaEventSynchronize(bad), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaEventDestroy(bad), cudaErrorInvalidResourceHandle);
  }
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(events, counters_report_flags_and_number_of_events)
{
  auto const before = sim::live_events();
  {
    auto const quiet = event{};
    EXPECT_EQ(sim::event_flags(quiet.get()), unsigned{cudaEventDisableTiming});
    EXPECT_EQ(sim::live_events(), before + 1);
  }
  EXPECT_EQ(sim::live_events(), before);
  EXPECT_EQ(sim::event_flags(cudaEvent_t{}), std::nullopt);
}

}  // namespace
