// SPDX-License-Identifier: Apache-2.0
#include "cuda/release/release_queue.hpp"

#include "cuda/ordering/process.hpp"

#include <cudf_arrow_bridge/release.hpp>

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <thread>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

/// A release that never completes must not keep the process from exiting.
constexpr auto drain_timeout = std::chrono::seconds{30};

thread_local release_queue const* queue_of_thread =
  nullptr;  ///< queue that this thread works for; null: none

}  // namespace

release_queue& release_queue::instance()
{
  static constinit per_process<release_queue> queue;
  return queue.get();
}

release_queue& release_queue::of_fences()
{
  static constinit per_process<release_queue> queue;
  return queue.get();
}

void release_queue::start()
{
  auto const lock = std::lock_guard{mutex_};
  if (num_threads_ > 0) { return; }
  add_thread();
  // Registered after CUDA was first used, so it runs before CUDA destroys its contexts. Fences come
  // first: they hand what they keep over to be released.
  std::atexit([] {
    of_fences().drain();
    instance().drain();
  });
}

void release_queue::add_thread()
{
  lanes_.add_worker();
  std::thread{[this, worker = num_threads_] { run(worker); }}.detach();
  ++num_threads_;
  ++num_idle_;
}

void release_queue::push(deferred_release* work) noexcept
{
  auto const lock = std::lock_guard{mutex_};
  work->number_   = num_pushed_++;
  enqueue(work);
}

void release_queue::enqueue(deferred_release* work) noexcept
{
  lanes_.push(work);
  pushed_.notify_one();
  if (lanes_.num_waiting() > num_idle_) {
    try {
      add_thread();
    } catch (std::exception const&) {
      return;  // the existing threads will handle it
    }
  }
}

bool release_queue::drain() noexcept
{
  if (queue_of_thread == this) { return false; }
  auto lock    = std::unique_lock{mutex_};
  auto self    = drain_call{num_pushed_, num_pushed_ - num_released_, first_drain_};
  first_drain_ = &self;
  released_.wait_for(lock, drain_timeout, [&] { return self.left == 0; });
  auto** link = &first_drain_;
  while (*link != &self) { link = &(*link)->next; }
  *link = self.next;
  return std::exchange(num_told_, num_released_) != num_released_;
}

void release_queue::run(std::size_t worker) noexcept
{
  queue_of_thread = this;
  auto lock       = std::unique_lock{mutex_};
  for (;;) {
    deferred_release* work = nullptr;
    pushed_.wait(lock, [&] { return (work = lanes_.take(worker)) != nullptr; });
    --num_idle_;
    auto const number = work->number_;
    lock.unlock();
    auto const released = wait_and_release(work);
    lock.lock();
    ++num_idle_;
    lanes_.finish(worker);
    if (released) {
      note_release(number);
    } else {
      enqueue(work);
    }
  }
}

bool release_queue::wait_and_release(deferred_release* work) noexcept
{
  auto const& event = work->points_[work->num_passed_].event;
  // The producer's release callback runs with the device of its memory current.
  (void)cudaSetDevice(event.device());
  // If CUDA fails here, no work is running that could read the memory.
  auto const status = event.wait();
  if (work->num_passed_ + 1 < work->points_.size()) {
    ++work->num_passed_;
    return false;
  }
  work->finish(status);
  return true;
}

void release_queue::note_release(std::uint64_t number) noexcept
{
  ++num_released_;
  for (auto* other = first_drain_; other != nullptr; other = other->next) {
    if (number < other->before && --other->left == 0) { released_.notify_all(); }
  }
}

}  // namespace cudf_arrow_bridge::detail

bool cudf_arrow_bridge::drain_releases() noexcept
{ return detail::release_queue::instance().drain(); }
