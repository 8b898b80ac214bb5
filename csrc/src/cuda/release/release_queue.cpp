// SPDX-License-Identifier: Apache-2.0
#include "cuda/release/release_queue.hpp"

#include "cuda/ordering/process.hpp"

#include <cudf_arrow_bridge/release.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <thread>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

/// A release that never completes must not prevent the process from exiting.
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
  // Registered after CUDA was first used, so it runs before CUDA destroys its contexts. Fences are
  // drained first, because they pass the objects that they keep alive to the release queue.
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

void release_lanes::push(deferred_release* work) noexcept
{
  work->next_ = nullptr;
  auto** lane = &first_lane_;
  while (*lane != nullptr && stream_of(**lane) != stream_of(*work)) { lane = &(*lane)->next_lane_; }
  if (*lane == nullptr) {
    work->last_      = work;
    work->next_lane_ = nullptr;
    *lane            = work;
  } else {
    (*lane)->last_->next_ = work;
    (*lane)->last_        = work;
  }
}

deferred_release* release_lanes::take(std::size_t worker) noexcept
{
  auto** lane = &first_lane_;
  while (*lane != nullptr && is_busy(stream_of(**lane))) { lane = &(*lane)->next_lane_; }
  auto* const taken = *lane;
  if (taken == nullptr) { return nullptr; }
  *lane = taken->next_lane_;
  if (auto* const rest = taken->next_) {
    // Append the rest as the last lane, so that lanes take turns.
    rest->last_      = taken->last_;
    rest->next_lane_ = nullptr;
    while (*lane != nullptr) { lane = &(*lane)->next_lane_; }
    *lane = rest;
  }
  busy_streams_[worker] = stream_of(*taken);
  return taken;
}

std::size_t release_lanes::num_waiting() const noexcept
{
  auto count = std::size_t{0};
  for (auto const* lane = first_lane_; lane != nullptr; lane = lane->next_lane_) {
    count += is_busy(stream_of(*lane)) ? 0 : 1;
  }
  return count;
}

bool release_lanes::is_busy(unsigned long long stream_id) const noexcept
{ return std::find(busy_streams_.begin(), busy_streams_.end(), stream_id) != busy_streams_.end(); }

}  // namespace cudf_arrow_bridge::detail

bool cudf_arrow_bridge::drain_releases() noexcept
{ return detail::release_queue::instance().drain(); }
