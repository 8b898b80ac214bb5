// SPDX-License-Identifier: Apache-2.0
#include "cuda/ordering/events.hpp"

#include "cuda/location/location.hpp"

#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/ordering.hpp>

#include <rmm/cuda_device.hpp>
#include <rmm/detail/error.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace cudf_arrow_bridge::detail {
namespace {

/// Idle events by device.
class event_pool {
 public:
  static event_pool& instance()
  {
    static constinit per_process<event_pool> pool;
    return pool.get();
  }

  cudaEvent_t take(int device)
  {
    {
      auto const lock = std::lock_guard{mutex_};
      auto& idle      = idle_of(device);
      if (!idle.empty()) {
        auto* event = idle.back();
        idle.pop_back();
        ++in_use_;
        return event;
      }
      // Reserve memory for all events, so that destructors return them without allocating.
      idle.reserve(++num_created_);
    }
    // The driver may block this call, and other threads must be able to use the pool meanwhile.
    cudaEvent_t event{};
    RMM_CUDA_TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync));
    auto const lock = std::lock_guard{mutex_};
    ++in_use_;
    return event;
  }

  void give_back(int device, cudaEvent_t event) noexcept
  {
    auto const lock = std::lock_guard{mutex_};
    idle_[static_cast<std::size_t>(device)].push_back(event);
    --in_use_;
  }

  std::size_t in_use() noexcept
  {
    auto const lock = std::lock_guard{mutex_};
    return in_use_;
  }

 private:
  std::vector<cudaEvent_t>& idle_of(int device)
  {
    auto const index = static_cast<std::size_t>(device);
    if (idle_.size() <= index) { idle_.resize(index + 1); }
    return idle_[index];
  }

  std::mutex mutex_;
  std::vector<std::vector<cudaEvent_t>> idle_;
  std::size_t num_created_{0};
  std::size_t in_use_{0};
};

}  // namespace

pooled_event pooled_event::acquire()
{
  auto const device = rmm::get_current_cuda_device().value();
  return {event_pool::instance().take(device), device};
}

pooled_event& pooled_event::operator=(pooled_event&& other) noexcept
{
  std::swap(event_, other.event_);
  std::swap(device_, other.device_);
  std::swap(creator_process_, other.creator_process_);
  std::swap(is_borrowed_, other.is_borrowed_);
  return *this;
}

pooled_event::~pooled_event()
{
  if (is_usable() && !is_borrowed_) { event_pool::instance().give_back(device_, event_); }
}

cudaError_t synchronize(cuda::stream_ref stream) noexcept
{
  if (auto const status = check_captures(stream); status != cudaSuccess) { return status; }
  auto const relaxed = relaxed_captures{};
  auto launched      = cudaSuccess;
  if (stream.get() == cudaStream_t{} || stream.get() == cudaStreamLegacy) {
    // Work on the legacy default stream waits for blocking streams, but synchronizing with that
    // stream alone does not. So enqueue an empty host function first.
    launched = cudaLaunchHostFunc(stream.get(), [](void*) {}, nullptr);
  }
  auto const status = cudaStreamSynchronize(stream.get());
  return status == cudaSuccess ? launched : status;
}

std::size_t events_in_use() noexcept { return event_pool::instance().in_use(); }

}  // namespace cudf_arrow_bridge::detail

namespace cudf_arrow_bridge {
namespace {

/// See `release_after`. `cudaStreamPerThread` means the stream of the thread that created the
/// object.
class ordered_owner {
 public:
  /// @throws rmm::cuda_error if CUDA cannot create an event
  ordered_owner(std::shared_ptr<void const> owner, cuda::stream_ref freed, cuda::stream_ref reader)
    : owner_{std::move(owner)},
      event_{detail::pooled_event::acquire()},
      freed_{freed},
      reader_{reader}
  {
  }

  ordered_owner(ordered_owner const&)            = delete;
  ordered_owner& operator=(ordered_owner const&) = delete;

  ~ordered_owner()
  {
    // CUDA does not survive a fork: a child must not use it for memory of its parent.
    if (!creator_process_.is_of_this_process()) { return; }
    // Handles of default streams refer to the current device.
    auto device = 0;
    if (cudaGetDevice(&device) == cudaSuccess && cudaSetDevice(event_.device()) == cudaSuccess) {
      auto const reader = creator_thread_.resolve(reader_);
      if (event_.order(creator_thread_.resolve(freed_), reader) != cudaSuccess) {
        (void)detail::synchronize(reader);
      }
      (void)cudaSetDevice(device);
    }
    (void)cudaGetLastError();
  }

 private:
  std::shared_ptr<void const> owner_;  ///< destroyed after the destructor has ordered the streams
  detail::process_id creator_process_;
  detail::thread_id creator_thread_;
  detail::pooled_event event_;
  cuda::stream_ref freed_;
  cuda::stream_ref reader_;
};

}  // namespace

void order_after(cuda::stream_ref later, cuda::stream_ref earlier, rmm::cuda_device_id device)
{
  if (!has_gpu()) { return; }
  auto const guard = detail::guard_device(device);
  detail::require_no_capture(later);
  detail::require_no_capture(earlier);
  auto const event = detail::pooled_event::acquire();
  RMM_CUDA_TRY(event.order(later, earlier));
}

std::shared_ptr<void const> release_after(std::shared_ptr<void const> owner,
                                          cuda::stream_ref freed,
                                          cuda::stream_ref reader)
{
  auto const one_stream = freed == reader && freed.get() != cudaStreamPerThread;
  if (one_stream || !has_gpu()) { return owner; }
  return std::make_shared<ordered_owner const>(std::move(owner), freed, reader);
}

}  // namespace cudf_arrow_bridge
