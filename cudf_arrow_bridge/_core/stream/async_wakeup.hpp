// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/async.hpp>
#include <cudf_arrow_bridge/fences.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace cudf_arrow_bridge {

/// Ends the fence that an event loop waits for, if it waits. Thread-safe and independent of the
/// GIL.
class async_wakeup {
 public:
  explicit async_wakeup(fence_set fences) : fences_{std::move(fences)} {}

  /// @return The fence that the next `notify` ends
  fence_id prepare()
  {
    auto const fence = fences_.add();
    fences_.complete(prepared_.exchange(fence));
    return fence;
  }

  void notify() noexcept
  {
    if (auto const fence = prepared_.exchange(0); fence != 0) { fences_.complete(fence); }
  }

 private:
  fence_set fences_;
  std::atomic<fence_id> prepared_{0};
};

inline std::function<void()> notifier_of(std::shared_ptr<async_wakeup> wakeup)
{
  return [wakeup = std::move(wakeup)] { wakeup->notify(); };
}

/// The result of `async_stream_reader::next`.
struct async_step {
  unique_device_array array;  ///< released at the end, or if no array is ready
  int code{0};                ///< of the producer's error; 0: none
  std::string message;
  std::string metadata;
};

inline async_step step_of(async_stream_reader& reader)
{
  auto step = async_step{};
  try {
    if (auto batch = reader.next()) { step.array = std::move(batch->array); }
  } catch (async_stream_error const& error) {
    step.code     = error.code();
    step.message  = error.what();
    step.metadata = error.metadata();
  }
  return step;
}

}  // namespace cudf_arrow_bridge
