// SPDX-License-Identifier: Apache-2.0
#include "cuda/release/deferred_release.hpp"

#include "cuda/release/release_queue.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

constexpr auto no_device = rmm::cuda_device_id{-1};  ///< rmm's guard ignores negative ids

}  // namespace

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
      return record_point(stream);
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

  auto event        = spare_ ? std::move(spare_) : pooled_event::acquire();
  auto const status = event.record(stream);
  if (status == cudaSuccess) { points_.push_back({id, std::move(event)}); }
  return status;
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
    return cudaStreamWaitEvent(stream.get(), *point.event.handle()) != cudaSuccess;
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

}  // namespace cudf_arrow_bridge::detail
