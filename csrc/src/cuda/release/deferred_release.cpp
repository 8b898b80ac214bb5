// SPDX-License-Identifier: Apache-2.0
#include "cuda/release/deferred_release.hpp"

#include "cuda/ordering/process.hpp"

#include <cudf_arrow_bridge/release.hpp>

#include <cuda_runtime_api.h>

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <thread>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr auto no_device = rmm::cuda_device_id{-1};  ///< rmm's guard ignores negative ids

/// A release that never completes must not prevent the process from exiting.
constexpr auto drain_timeout = std::chrono::seconds{30};

constexpr auto shortest_interval = microseconds{50};

/// The id of points that are recorded after a capture. The ids of streams are small.
constexpr auto id_after_captures = ~0ULL;

/// @return Whether all work that an event on the stream would wait for is known to be done. It is
/// not for blocking streams: their events also wait for work on default streams.
bool is_idle(cuda::stream_ref stream) noexcept
{
  auto flags = 0U;
  if (cudaStreamGetFlags(stream.get(), &flags) != cudaSuccess || flags != cudaStreamNonBlocking ||
      check_captures(stream) != cudaSuccess) {
    return false;
  }
  auto const relaxed = relaxed_captures{};
  return cudaStreamQuery(stream.get()) == cudaSuccess;
}

}  // namespace

/**
 * @brief Polls objects until their recorded work is done, then destroys them.
 *
 * A thread polls all of them in intervals, while there are any. Other threads may poll at the same
 * time. No lock is held while CUDA is called or an object is destroyed: a producer's `release` may
 * be slow, call CUDA, take the GIL, import or drain. A slow release delays the others that the
 * thread would destroy. So fences have a queue of their own.
 *
 * A forked child has its own queues, since the parent's threads do not exist there.
 */
class release_queue {
 public:
  explicit release_queue(microseconds longest_interval) : longest_interval_{longest_interval} {}

  /// The queues of this process. Never destroyed: arrays may be freed late during exit.
  static release_queue& releases();
  static release_queue& fences();

  /**
   * @brief Starts the thread, if it does not run.
   *
   * @throws std::system_error if the thread cannot be created
   */
  void start()
  {
    auto const lock = std::lock_guard{mutex_};
    if (is_started_) { return; }
    std::thread{[this] { run(); }}.detach();
    is_started_ = true;
    // Registered after CUDA was first used, so it runs before CUDA destroys its contexts. Fences
    // are drained first, because they pass the objects that they keep alive to the releases.
    std::atexit([] {
      fences().drain();
      releases().drain();
    });
  }

  /// Queues an object at the first of its places. `start` must have been called.
  void push(std::list<queue_place>& places) noexcept
  {
    auto const lock       = std::lock_guard{mutex_};
    places.front().number = ++num_pushed_;
    queue_.splice(queue_.end(), places, places.begin());
    pushed_.notify_one();  // free of cost unless the thread is idle
  }

  /// Destroys the objects whose work is done. @return Whether there were any
  bool finish_ready() noexcept
  {
    auto is_any = false;
    auto lock   = std::unique_lock{mutex_};
    for (auto place = queue_.begin(); place != queue_.end();) {
      if (std::exchange(place->is_polled, true)) {
        ++place;
        continue;
      }
      lock.unlock();
      is_finishing_      = true;
      auto const is_done = place->object->finish_if_done();
      is_finishing_      = false;
      lock.lock();
      if (!is_done) {
        (place++)->is_polled = false;
        continue;
      }
      place  = queue_.erase(place);
      is_any = true;
      ++num_finished_;
      finished_.notify_all();
    }
    return is_any;
  }

  /// Waits until all objects pushed before the call are destroyed, at most 30 seconds.
  ///
  /// @return Whether an object was destroyed since the last call
  bool drain() noexcept
  {
    if (is_finishing_) { return false; }
    auto lock       = std::unique_lock{mutex_};
    auto const last = num_pushed_;
    finished_.wait_for(
      lock, drain_timeout, [&] { return queue_.empty() || queue_.front().number > last; });
    return std::exchange(num_reported_, num_finished_) != num_finished_;
  }

  [[nodiscard]] static bool is_finishing() noexcept { return is_finishing_; }

  [[nodiscard]] bool is_empty() noexcept
  {
    auto const lock = std::lock_guard{mutex_};
    return queue_.empty();
  }

 private:
  void run() noexcept
  {
    // By default, the kernel extends each sleep by 50 microseconds.
    (void)prctl(PR_SET_TIMERSLACK, std::chrono::nanoseconds{microseconds{1}}.count());
    for (;;) {
      {
        auto lock = std::unique_lock{mutex_};
        pushed_.wait(lock, [&] { return !queue_.empty(); });
      }
      auto interval = shortest_interval;
      while (!is_empty()) {
        auto const start = clock::now();
        interval =
          finish_ready() ? shortest_interval : std::min(interval * 9 / 8, longest_interval_);
        // Not busy for more than half of the time, however many objects there are.
        std::this_thread::sleep_for(std::max<clock::duration>(interval, clock::now() - start));
      }
    }
  }

  /// Whether this thread is destroying an object.
  static inline thread_local bool is_finishing_{false};

  microseconds longest_interval_;
  std::mutex mutex_;  ///< guards the members below
  std::condition_variable pushed_;
  std::condition_variable finished_;
  std::list<queue_place> queue_;  ///< in the order in which they were pushed
  bool is_started_{false};
  std::uint64_t num_pushed_{0};
  std::uint64_t num_finished_{0};
  std::uint64_t num_reported_{0};  ///< `num_finished_` at the end of the last `drain`
};

namespace {

struct release_queues {
  release_queue releases{std::chrono::milliseconds{1}};
  release_queue fences{shortest_interval};
};

constinit per_process<release_queues> queues;

}  // namespace

release_queue& release_queue::releases() { return queues.get().releases; }
release_queue& release_queue::fences() { return queues.get().fences; }

deferred_release::deferred_release(bool prepare)
{
  if (!prepare) { return; }
  device_ = rmm::get_current_cuda_device();
  release_queue::releases().start();
  places_.push_back({this});
  spare_ = pooled_event::acquire();
  points_.reserve(1);
}

void deferred_release::release_after(cuda::stream_ref stream, bool unless_idle) noexcept
{
  // The thread that frees may have another device current.
  auto const guard = rmm::cuda_set_device_raii{device_.value_or(no_device)};
  if (unless_idle) {
    if (is_idle(stream)) { return; }
    (void)cudaGetLastError();
  }
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
    points_.push_back({id_after_captures, std::move(spare_), false});
  }
}

void deferred_release::release_when_ready() noexcept
{
  if (!points_.empty()) {
    release_queue::releases().push(places_);
    return;
  }
  auto guard = std::optional<rmm::cuda_set_device_raii>{};
  // Other threads may be capturing while the producer frees its memory.
  auto relaxed = std::optional<relaxed_captures>{};
  if (device_) {
    guard.emplace(*device_);
    relaxed.emplace();
  }
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

void deferred_release::prepare_fence()
{
  release_queue::releases().start();
  release_queue::fences().start();
  places_.assign(2, {this});  // also for a release after the fence
}

void deferred_release::push_to_fence_queue() noexcept { release_queue::fences().push(places_); }

bool deferred_release::finish_if_done() noexcept
{
  auto status = cudaSuccess;
  for (;;) {
    auto& point = points_.back();
    // CUDA creates a context on the current device. A producer is released with this one current.
    (void)cudaSetDevice(point.event.device());
    if (!point.is_recorded) {
      auto const relaxed = relaxed_captures{};
      if (is_capture(point.event.record(cuda::stream_ref{cudaStreamLegacy}))) { return false; }
      point.is_recorded = true;
    }
    // If CUDA fails here, no work is running that could read the memory.
    status = point.event.query();
    if (status == cudaErrorNotReady) { return false; }
    if (points_.size() == 1) { break; }
    points_.pop_back();
  }
  // Other threads may be capturing while the producer frees its memory.
  auto const relaxed = relaxed_captures{};
  finish(status);
  return true;
}

void finish_ready_releases() noexcept
{
  if (release_queue::is_finishing() || release_queue::releases().is_empty()) { return; }
  auto device = 0;
  (void)cudaGetDevice(&device);
  (void)release_queue::releases().finish_ready();
  (void)cudaSetDevice(device);
}

bool drain_fences() noexcept { return release_queue::fences().drain(); }

}  // namespace cudf_arrow_bridge::detail

bool cudf_arrow_bridge::drain_releases() noexcept
{ return detail::release_queue::releases().drain(); }
