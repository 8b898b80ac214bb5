// SPDX-License-Identifier: Apache-2.0
/// @file
/// Releases do not wait for releases of another stream.
#include "sim/tests/bridge_test.hpp"

#include <chrono>
#include <future>
#include <optional>
#include <thread>

namespace cudf_arrow_bridge::test {
namespace {

using namespace std::chrono_literals;

constexpr auto time_limit = 20s;  ///< of waits that are expected to succeed

/// A producer whose data is ready, and whose release can be awaited.
class watched {
 public:
  explicit watched(cudaStream_t stream, std::function<void()> action = [] {}) : source{stream}
  {
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    source.when_released([this, action = std::move(action)] {
      action();
      released_.set_value();
    });
  }

  [[nodiscard]] bool is_released(std::chrono::seconds within = 0s)
  { return future_.wait_for(within) == std::future_status::ready; }

  producer source;

 private:
  std::promise<void> released_{};
  std::future<void> future_{released_.get_future()};
};

class LateReleases : public bridge_test {
 protected:
  void import_and_free(watched& one, lasting_stream const& stream)
  { import(one.source, stream.get()).storage.reset(); }
};

TEST_F(LateReleases, SlowReleaseDoesNotDelayThoseThatAnImportFinds)
{
  auto const one   = lasting_stream{};
  auto const other = lasting_stream{};
  auto inside      = std::promise<void>{};
  auto second      = watched{other.get()};
  auto first       = watched{one.get(), [&] {
                         inside.set_value();
                         EXPECT_TRUE(second.is_released(time_limit));
                             }};
  auto slow        = std::optional<sim::slow_stream>{one.get()};
  import_and_free(first, one);
  slow.reset();
  EXPECT_EQ(inside.get_future().wait_for(time_limit), std::future_status::ready);
  slow.emplace(other.get());
  import_and_free(second, other);
  slow.reset();
  synchronize(other.get());
  auto next = watched{other.get()};
  import_and_free(next, other);
  EXPECT_TRUE(first.is_released(time_limit));
}

TEST_F(LateReleases, LateStreamsDoNotDelayOtherStreams)
{
  constexpr auto num_late = 10U;
  auto const prompt       = lasting_stream{};
  auto late               = std::vector<std::unique_ptr<lasting_stream>>{};
  auto pending            = std::vector<std::unique_ptr<watched>>{};
  auto slow               = std::vector<std::unique_ptr<sim::slow_stream>>{};
  for (auto i = 0U; i < num_late; ++i) {
    late.push_back(std::make_unique<lasting_stream>());
    pending.push_back(std::make_unique<watched>(late.back()->get()));
    slow.push_back(std::make_unique<sim::slow_stream>(late.back()->get()));
    import_and_free(*pending.back(), *late.back());
  }
  for (auto i = 0; i < 20; ++i) {
    auto next = watched{prompt.get()};
    import_and_free(next, prompt);
    EXPECT_TRUE(next.is_released(time_limit));
  }
  for (auto const& one : pending) { EXPECT_FALSE(one->is_released()); }
  slow.clear();
  drain_releases();
  for (auto const& one : pending) { EXPECT_TRUE(one->is_released()); }
}

TEST_F(LateReleases, DrainWaitsForEarlierReleasesAndNotForLaterOnes)
{
  auto const late   = lasting_stream{};
  auto const prompt = lasting_stream{};
  auto const later  = lasting_stream{};
  auto first        = watched{late.get()};
  auto last         = watched{later.get()};
  auto slow         = std::optional<sim::slow_stream>{late.get()};
  import_and_free(first, late);
  auto drained = std::async(std::launch::async, [] { drain_releases(); });
  // If the drain has not started by then, this test proves nothing.
  std::this_thread::sleep_for(50ms);
  auto other = watched{prompt.get()};
  import_and_free(other, prompt);
  EXPECT_TRUE(other.is_released(time_limit));
  EXPECT_EQ(drained.wait_for(0s), std::future_status::timeout);
  auto slow_too = std::optional<sim::slow_stream>{later.get()};
  import_and_free(last, later);
  slow.reset();
  EXPECT_EQ(drained.wait_for(time_limit), std::future_status::ready);
  EXPECT_TRUE(first.is_released());
  EXPECT_FALSE(last.is_released());
  slow_too.reset();
  drain_releases();
  EXPECT_TRUE(last.is_released());
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
