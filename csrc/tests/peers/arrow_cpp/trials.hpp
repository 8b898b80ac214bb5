// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "testing/sample.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

namespace cudf_arrow_bridge::test {

/// Ends the process if a test hangs: its threads cannot be stopped.
class watchdog {
 public:
  watchdog() = default;

  watchdog(watchdog&&) = delete;

  ~watchdog()
  {
    {
      auto const lock = std::lock_guard{mutex_};
      is_over_        = true;
    }
    over_.notify_all();
    thread_.join();
  }

  /// Set the name of the current trial, and restart its time limit.
  void next(std::string name)
  {
    auto const lock = std::lock_guard{mutex_};
    name_           = std::move(name);
    ++num_begun_;
  }

 private:
  void watch()
  {
    auto lock = std::unique_lock{mutex_};
    for (auto seen = num_begun_; !over_.wait_for(lock, bound, [this] { return is_over_; });
         seen      = num_begun_) {
      if (num_begun_ == seen) {
        std::fprintf(stderr, "No end within a minute: %s\n", name_.c_str());
        std::abort();
      }
    }
  }

  static constexpr auto bound = std::chrono::minutes{1};

  std::mutex mutex_;
  std::condition_variable over_;
  std::string name_;
  int num_begun_{0};
  bool is_over_{false};
  std::thread thread_{[this] { watch(); }};  // last, because it uses the other members
};

/// Run `trial` with 200 seeds, or only with `CUDF_ARROW_BRIDGE_SEED`.
template <typename Trial>
void run_trials(Trial const& trial)
{
  auto watch       = watchdog{};
  auto const* only = std::getenv("CUDF_ARROW_BRIDGE_SEED");
  auto const first = only == nullptr ? 0U : static_cast<unsigned>(std::strtoul(only, nullptr, 10));
  auto const end   = only == nullptr ? 200U : first + 1;
  for (auto seed = first; seed < end && !::testing::Test::HasFailure(); ++seed) {
    auto const name = "CUDF_ARROW_BRIDGE_SEED=" + std::to_string(seed);
    SCOPED_TRACE(name);
    watch.next(name);
    auto random = engine{seed};
    trial(random);
  }
}

/// Sleep, yield or return, depending on a random number.
inline void dawdle(unsigned drawn)
{
  if (drawn % 8 == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds{drawn % 300});
  } else if (drawn % 2 == 0) {
    std::this_thread::yield();
  }
}

/// Wait for a condition that other threads make true. A `watchdog` limits the time.
template <typename Condition>
void wait_until(Condition const& condition)
{
  while (!condition()) { std::this_thread::sleep_for(std::chrono::microseconds{100}); }
}

}  // namespace cudf_arrow_bridge::test
