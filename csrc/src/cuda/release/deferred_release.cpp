// SPDX-License-Identifier: Apache-2.0
#include "cuda/release/deferred_release.hpp"

#include "cuda/ordering/process.hpp"

#include <cudf_arrow_bridge/release.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <thread>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

constexpr auto no_device = rmm::cuda_device_id{-1};  ///< rmm's guard ignores negative ids

/// A release that never completes must not prevent the process from exiting.
constexpr auto drain_timeout = std::chrono::seconds{30};

/// How often a release asks whether a capture has ended.
constexpr auto capture_poll_interval = std::chrono::milliseconds{10};

/// The lane of points that are recorded after a capture. The ids of streams are small.
constexpr auto lane_after_captures = ~0ULL;

}  // namespace

/**
 * @brief Destroys deferred objects on its own threads, once their recorded work is done.
 *
 * Each thread blocks in CUDA until the next event of one stream completes, then destroys the object
 * that waited for it. No lock is held then: a producer's `release` may be slow, call CUDA, take the
 * GIL or push and drain here. Objects of one stream are destroyed in the order in which they were
 * pushed. Objects of other streams do not wait for them: there are as many threads as there were
 * streams with unfinished work at one time. An object with several streams waits for one after the
 * other.
 *
 * There are two such queues. Fences have their own, so that fences do not wait for the releases of
 * producers.
 *
 * The queue has one FIFO list (lane) for each stream that objects wait for next. The objects are
 * linked through their own members, so only adding a thread allocates.
 *
 * A forked child has its own queue, since the parent's threads do not exist there.
 */
class release_queue {
 public:
  /// The queue of this process. Never destroyed: arrays may be freed late during exit.
  static release_queue& instance()
  {
    static constinit per_process<release_queue> queue;
    return queue.get();
  }

  /// The queue of this process's fences, never destroyed either.
  static release_queue& of_fences()
  {
    static constinit per_process<release_queue> queue;
    return queue.get();
  }

  /**
   * @brief Starts the first thread, if none runs. `push` starts more when they are needed.
   *
   * @throws std::system_error if the thread cannot be created
   */
  void start()
  {
    auto const lock = std::lock_guard{mutex_};
    if (!busy_streams_.empty()) { return; }
    add_thread();
    // Registered after CUDA was first used, so it runs before CUDA destroys its contexts. Fences
    // are drained first, because they pass the objects that they keep alive to the release queue.
    std::atexit([] {
      of_fences().drain();
      instance().drain();
    });
  }

  /// Queues an object and takes ownership of it. `start` must have been called.
  void push(deferred_release* work) noexcept
  {
    auto const lock = std::lock_guard{mutex_};
    work->number_   = num_pushed_++;
    enqueue(work);
  }

  /// Waits until all objects pushed before the call are destroyed, at most 30 seconds.
  ///
  /// @return Whether an object was destroyed since the last call
  bool drain() noexcept
  {
    if (queue_of_thread_ == this) { return false; }
    auto lock    = std::unique_lock{mutex_};
    auto self    = drain_call{num_pushed_, num_pushed_ - num_released_, first_drain_};
    first_drain_ = &self;
    released_.wait_for(lock, drain_timeout, [&] { return self.left == 0; });
    auto** link = &first_drain_;
    while (*link != &self) { link = &(*link)->next; }
    *link = self.next;
    return std::exchange(num_reported_, num_released_) != num_released_;
  }

 private:
  /// A call of `drain` in progress, on its thread's stack.
  struct drain_call {
    std::uint64_t before;  ///< it waits for objects with smaller numbers
    std::uint64_t left;    ///< the number of these that are not destroyed yet
    drain_call* next;
  };

  /// @return The id of the stream that an object waits for next
  static unsigned long long stream_of(deferred_release const& work) noexcept
  { return work.points_[work.num_passed_].stream_id; }

  void add_thread()
  {
    busy_streams_.reserve(busy_streams_.size() + 1);
    std::thread{[this, worker = busy_streams_.size()] { run(worker); }}.detach();
    busy_streams_.emplace_back();
    ++num_idle_;
  }

  void run(std::size_t worker) noexcept
  {
    queue_of_thread_ = this;
    auto lock        = std::unique_lock{mutex_};
    for (;;) {
      deferred_release* work = nullptr;
      pushed_.wait(lock, [&] { return (work = take_for(worker)) != nullptr; });
      --num_idle_;
      auto const number = work->number_;
      lock.unlock();
      auto const released = wait_and_release(work);
      lock.lock();
      ++num_idle_;
      busy_streams_[worker].reset();
      if (released) {
        note_release(number);
      } else {
        enqueue(work);
      }
    }
  }

  void enqueue(deferred_release* work) noexcept
  {
    append_to_lane(work);
    pushed_.notify_one();
    if (num_waiting_lanes() > num_idle_) {
      try {
        add_thread();
      } catch (std::exception const&) {
        return;  // the existing threads will handle it
      }
    }
  }

  /// @return Whether the object is destroyed; if not, it waits for another stream
  static bool wait_and_release(deferred_release* work) noexcept
  {
    auto const& point = work->points_[work->num_passed_];
    auto const& event = point.event;
    // The producer's release callback runs with the device of its memory current.
    (void)cudaSetDevice(event.device());
    // Other threads may be capturing while the producer frees its memory.
    auto const relaxed = relaxed_captures{};
    while (!point.is_recorded && is_capture(event.record(cuda::stream_ref{cudaStreamLegacy}))) {
      std::this_thread::sleep_for(capture_poll_interval);
    }
    // If CUDA fails here, no work is running that could read the memory.
    auto const status = event.wait();
    if (work->num_passed_ + 1 < work->points_.size()) {
      ++work->num_passed_;
      return false;
    }
    work->finish(status);
    return true;
  }

  void note_release(std::uint64_t number) noexcept
  {
    ++num_released_;
    for (auto* other = first_drain_; other != nullptr; other = other->next) {
      if (number < other->before && --other->left == 0) { released_.notify_all(); }
    }
  }

  /// Appends an object to the lane of the stream that it waits for next.
  void append_to_lane(deferred_release* work) noexcept
  {
    work->next_ = nullptr;
    auto** lane = &first_lane_;
    while (*lane != nullptr && stream_of(**lane) != stream_of(*work)) {
      lane = &(*lane)->next_lane_;
    }
    if (*lane == nullptr) {
      work->last_      = work;
      work->next_lane_ = nullptr;
      *lane            = work;
    } else {
      (*lane)->last_->next_ = work;
      (*lane)->last_        = work;
    }
  }

  /// Takes the first object of a lane that no thread works for; null if there is no such lane.
  deferred_release* take_for(std::size_t worker) noexcept
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

  /// @return The number of lanes with objects that no thread works for
  [[nodiscard]] std::size_t num_waiting_lanes() const noexcept
  {
    auto count = std::size_t{0};
    for (auto const* lane = first_lane_; lane != nullptr; lane = lane->next_lane_) {
      count += is_busy(stream_of(*lane)) ? 0 : 1;
    }
    return count;
  }

  [[nodiscard]] bool is_busy(unsigned long long stream_id) const noexcept
  {
    return std::find(busy_streams_.begin(), busy_streams_.end(), stream_id) != busy_streams_.end();
  }

  /// The queue that a thread works for; null: none.
  static inline thread_local release_queue const* queue_of_thread_{nullptr};

  std::mutex mutex_;  ///< guards the members below; not held while CUDA or a producer is called
  std::condition_variable pushed_;
  std::condition_variable released_;
  deferred_release* first_lane_{nullptr};
  std::vector<std::optional<unsigned long long>> busy_streams_;  ///< by thread
  std::size_t num_idle_{0};  ///< threads without an object, also those about to wake
  std::uint64_t num_pushed_{0};
  std::uint64_t num_released_{0};
  std::uint64_t num_reported_{0};  ///< `num_released_` at the end of the last `drain`
  drain_call* first_drain_{nullptr};
};

deferred_release::deferred_release(bool prepare)
{
  if (!prepare) { return; }
  device_ = rmm::get_current_cuda_device();
  release_queue::instance().start();
  spare_ = pooled_event::acquire();
  points_.reserve(1);
}

void deferred_release::release_after(cuda::stream_ref stream) noexcept
{
  // The thread that frees may have another device current.
  auto const guard  = rmm::cuda_set_device_raii{device_.value_or(no_device)};
  auto const status = [&] {
    try {
      auto const recorded = record_point(stream);
      if (!is_capture(recorded)) { return recorded; }
      add_point_after_capture();
      return cudaSuccess;
    } catch (std::exception const&) {
      return cudaErrorMemoryAllocation;
    }
  }();
  if (status == cudaSuccess) { return; }
  // No event could be recorded, so wait for the stream now.
  (void)synchronize(stream);
  (void)cudaGetLastError();
}

cudaError_t deferred_release::record_point(cuda::stream_ref stream)
{
  // Unlike handles, stream ids are never reused for another stream.
  auto id = 0ULL;
  if (auto const status = cudaStreamGetId(stream.get(), &id); status != cudaSuccess) {
    return status;
  }
  auto const lock = std::lock_guard{mutex_};
  auto const known =
    std::find_if(points_.begin(), points_.end(), [id](auto const& p) { return p.stream_id == id; });
  if (known != points_.end()) { return known->event.record(stream); }

  if (!spare_) { spare_ = pooled_event::acquire(); }
  auto const status = spare_.record(stream);
  if (status == cudaSuccess) { points_.push_back({id, std::move(spare_)}); }
  return status;
}

void deferred_release::add_point_after_capture()
{
  auto const lock = std::lock_guard{mutex_};
  if (std::all_of(points_.begin(), points_.end(), [](auto const& p) { return p.is_recorded; })) {
    if (!spare_) { spare_ = pooled_event::acquire(); }
    points_.push_back({lane_after_captures, std::move(spare_), false});
  }
}

void deferred_release::release_when_ready() noexcept
{
  if (!points_.empty()) {
    release_queue::instance().push(this);
    return;
  }
  auto guard = std::optional<rmm::cuda_set_device_raii>{};
  if (device_) { guard.emplace(*device_); }
  delete this;
}

void deferred_release::release_in_order(cuda::stream_ref stream, int device) noexcept
{
  auto const is_refused = [&](release_point const& point) {
    return !point.is_recorded || point.event.make_wait(stream) != cudaSuccess;
  };
  {
    auto const guard = rmm::cuda_set_device_raii{rmm::cuda_device_id{device}};
    if (std::any_of(points_.begin(), points_.end(), is_refused)) {
      (void)cudaGetLastError();
    } else {
      points_.clear();
    }
  }
  release_when_ready();
}

void deferred_release::start_fence_queue()
{
  release_queue::instance().start();
  release_queue::of_fences().start();
}

void deferred_release::push_to_fence_queue() noexcept { release_queue::of_fences().push(this); }

bool drain_fences() noexcept { return release_queue::of_fences().drain(); }

}  // namespace cudf_arrow_bridge::detail

bool cudf_arrow_bridge::drain_releases() noexcept
{ return detail::release_queue::instance().drain(); }
