// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda/stream>

#include <cstdint>

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#error "the handle 0 is taken for the legacy default stream, whatever libcudf is built with"
#endif

namespace cudf_arrow_bridge::detail {

/**
 * @brief Identifies the thread on which an object was made.
 *
 * `cudaStreamPerThread` is a different stream on each thread, and no handle refers to that of
 * another thread.
 */
class thread_stamp {
 public:
  /// The stamp of the calling thread.
  thread_stamp() noexcept;

  /**
   * @brief A stream, usable on the calling thread, that is ordered after `stream` of the stamp's
   * thread.
   *
   * @return `stream` itself; but if it is another thread's `cudaStreamPerThread`, the legacy
   * default stream, which waits for the per-thread default streams of all threads
   */
  [[nodiscard]] cuda::stream_ref named_here(cuda::stream_ref stream) const noexcept;

 private:
  std::uint64_t number_;
};

}  // namespace cudf_arrow_bridge::detail
