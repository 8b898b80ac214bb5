// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/ordering/events.hpp"
#include "cuda/ordering/process.hpp"
#include "cuda/ordering/thread_stamp.hpp"

#include <cuda/stream>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Makes one stream wait for another when it is destroyed.
 *
 * `later` is then made to wait for the work enqueued on `earlier` by then; the host waits for that
 * where CUDA refuses. It may be destroyed on any thread, where `cudaStreamPerThread` still means
 * the stream of the thread that made it, and with any device current. The event is acquired at
 * once, so that destroying needs no memory. Does nothing in a forked child.
 */
class order_at_end {
 public:
  /**
   * @throws rmm::cuda_error if CUDA cannot create an event
   *
   * @param later Stream of the current device
   * @param earlier Likewise
   */
  order_at_end(cuda::stream_ref later, cuda::stream_ref earlier)
    : event_{pooled_event::acquire()}, later_{later}, earlier_{earlier}
  {
  }

  order_at_end(order_at_end const&)            = delete;
  order_at_end& operator=(order_at_end const&) = delete;
  ~order_at_end();

  /// @return A stream, usable on the calling thread, that comes after what `earlier` has
  [[nodiscard]] cuda::stream_ref earlier() const noexcept { return made_on_.named_here(earlier_); }

 private:
  process_stamp made_in_;
  thread_stamp made_on_;
  pooled_event event_;
  cuda::stream_ref later_;
  cuda::stream_ref earlier_;
};

}  // namespace cudf_arrow_bridge::detail
