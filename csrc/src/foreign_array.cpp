// SPDX-License-Identifier: Apache-2.0
#include "foreign_array.hpp"

#include "process.hpp"
#include "release_queue.hpp"

#include <algorithm>
#include <exception>

namespace cudf_arrow_bridge::detail {

foreign_array::foreign_array(ArrowDeviceArray* array, bool host) : host_{host}
{
  if (!host) {
    // Whatever can fail does so now, while the struct is still the caller's.
    release_queue::instance().start();
    spare_ = pooled_event::acquire();
    passages_.reserve(1);
  }
  array_ = unique_device_array{array};
}

void foreign_array::drop_share(cuda::stream_ref stream) noexcept
{
  if (!host_) {
    if (in_forked_child()) { return; }
    auto const status = [&] {
      try {
        return note_passage(stream);
      } catch (std::exception const&) {
        return cudaErrorMemoryAllocation;
      }
    }();
    // Without an event to wait for later, wait here.
    if (status != cudaSuccess) {
      (void)cudaStreamSynchronize(stream.get());
      (void)cudaGetLastError();
    }
  }
  if (shares_.fetch_sub(1, std::memory_order_acq_rel) > 1) { return; }
  if (passages_.empty()) {
    delete this;
  } else {
    release_queue::instance().push(this);
  }
}

cudaError_t foreign_array::note_passage(cuda::stream_ref stream)
{
  // Unlike handles, identifiers are not used again for another stream.
  auto id = 0ULL;
  if (auto const status = cudaStreamGetId(stream.get(), &id); status != cudaSuccess) {
    return status;
  }
  auto const lock  = std::lock_guard{mutex_};
  auto const known = std::find_if(
    passages_.begin(), passages_.end(), [id](auto const& p) { return p.stream_id == id; });
  if (known != passages_.end()) { return known->event.record(stream); }

  auto event        = spare_ ? std::move(spare_) : pooled_event::acquire();
  auto const status = event.record(stream);
  if (status == cudaSuccess) { passages_.push_back({id, std::move(event)}); }
  return status;
}

}  // namespace cudf_arrow_bridge::detail
