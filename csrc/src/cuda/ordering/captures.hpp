// SPDX-License-Identifier: Apache-2.0
/// @file
/// Captures of streams into CUDA graphs by other code of the process.
#pragma once

#include <cuda/stream>
#include <cuda_runtime_api.h>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Lets the calling thread wait and allocate while another stream is capturing.
 *
 * While a stream is capturing, CUDA forbids calls such as `cudaEventSynchronize` and `cudaFree`,
 * often on all threads, and invalidates the capture. They are safe here, because the library never
 * makes them for work that is captured.
 *
 * CUDA creates a context on the current device if it has none. So the device whose work is waited
 * for must be current.
 */
class relaxed_captures {
 public:
  relaxed_captures() noexcept;
  relaxed_captures(relaxed_captures const&)            = delete;
  relaxed_captures& operator=(relaxed_captures const&) = delete;
  ~relaxed_captures();

 private:
  cudaStreamCaptureMode mode_{cudaStreamCaptureModeRelaxed};  ///< to restore
};

/**
 * @brief Finds out whether work on a stream would be captured, or would invalidate a capture.
 *
 * @return cudaErrorStreamCaptureUnsupported if the stream is capturing;
 *   cudaErrorStreamCaptureImplicit if it is the legacy default stream and a blocking stream of the
 *   current device is capturing; otherwise cudaSuccess
 */
[[nodiscard]] cudaError_t check_captures(cuda::stream_ref stream) noexcept;

/// @return Whether `check_captures` has found a capture
[[nodiscard]] constexpr bool is_capture(cudaError_t error) noexcept
{ return error == cudaErrorStreamCaptureUnsupported || error == cudaErrorStreamCaptureImplicit; }

/// Throws if `check_captures` finds a capture. Each public function calls this before it enqueues
/// work on a stream.
///
/// @throws std::invalid_argument
void require_no_capture(cuda::stream_ref stream);

}  // namespace cudf_arrow_bridge::detail
