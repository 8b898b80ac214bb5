// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda/stream>

#include <cstdint>

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#error "the handle 0 is taken for the legacy default stream, whatever libcudf is built with"
#endif

namespace cudf_arrow_bridge::detail {

/**
 * @brief Tells the thread that an object was made on from others.
 *
 * The per-thread default stream has one handle and is another stream on each thread, which no other
 * thread can name.
 */
class thread_stamp {
 public:
  /// The stamp of this thread.
  thread_stamp() noexcept;

  /**
   * @brief A stream that comes after what a handle has meant on the thread of the stamp.
   *
   * @return The same handle, but the legacy default stream, which comes after the default streams
   *   of all threads, for another thread's
   */
  [[nodiscard]] cuda::stream_ref named_here(cuda::stream_ref stream) const noexcept;

 private:
  std::uint64_t number_;
};

}  // namespace cudf_arrow_bridge::detail
