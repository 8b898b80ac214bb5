// SPDX-License-Identifier: Apache-2.0
#include "release_queue.hpp"

#include "process.hpp"

#include <cudf_arrow_bridge/release.hpp>

#include <chrono>
#include <cstdlib>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

/// A release that waits for something this process no longer provides must not keep it from ending.
constexpr auto patience_at_exit = std::chrono::seconds{30};

}  // namespace

release_queue& release_queue::instance()
{
  // Never destroyed: arrays may be freed by destructors that run after any of ours.
  static auto* queue = new release_queue;
  return *queue;
}

void release_queue::start()
{
  auto const lock = std::lock_guard{mutex_};
  if (worker_.joinable()) { return; }
  worker_ = std::thread{[this] { run(); }};
  // Registered after CUDA was first used, so it runs before CUDA takes its contexts down.
  std::atexit([] { instance().drain(); });
}

void release_queue::push(deferred* work) noexcept
{
  {
    auto const lock                            = std::lock_guard{mutex_};
    work->next_                                = nullptr;
    (last_ == nullptr ? first_ : last_->next_) = work;
    last_                                      = work;
    ++num_pushed_;
  }
  pushed_.notify_one();
}

void release_queue::drain() noexcept
{
  if (in_forked_child()) { return; }
  auto lock = std::unique_lock{mutex_};
  if (std::this_thread::get_id() == worker_.get_id()) { return; }
  auto const target = num_pushed_;
  released_.wait_for(lock, patience_at_exit, [&] { return num_released_ >= target; });
}

void release_queue::run() noexcept
{
  for (;;) {
    auto* work = [this] {
      auto lock = std::unique_lock{mutex_};
      pushed_.wait(lock, [this] { return first_ != nullptr; });
      auto* first = std::exchange(first_, first_->next_);
      if (first_ == nullptr) { last_ = nullptr; }
      return first;
    }();
    release(work);
    {
      auto const lock = std::lock_guard{mutex_};
      ++num_released_;
    }
    released_.notify_all();
  }
}

void release_queue::release(deferred* work) noexcept
{
  for (auto const& passage : work->passages_) {
    // If CUDA can no longer tell, nothing is running that could read the memory.
    (void)passage.event.wait();
  }
  delete work;
}

}  // namespace cudf_arrow_bridge::detail

void cudf_arrow_bridge::drain_releases() noexcept { detail::release_queue::instance().drain(); }
