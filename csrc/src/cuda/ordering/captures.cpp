// SPDX-License-Identifier: Apache-2.0
#include "cuda/ordering/captures.hpp"

#include <cudf_arrow_bridge/ordering.hpp>

#include <rmm/detail/error.hpp>

#include <stdexcept>

namespace cudf_arrow_bridge::detail {

relaxed_captures::relaxed_captures() noexcept
{
  if (cudaThreadExchangeStreamCaptureMode(&mode_) != cudaSuccess) { (void)cudaGetLastError(); }
}

relaxed_captures::~relaxed_captures()
{
  if (cudaThreadExchangeStreamCaptureMode(&mode_) != cudaSuccess) { (void)cudaGetLastError(); }
}

cudaError_t check_captures(cuda::stream_ref stream) noexcept
{
  auto capture      = cudaStreamCaptureStatusNone;
  auto const status = cudaStreamIsCapturing(stream.get(), &capture);
  if (status == cudaSuccess) {
    return capture == cudaStreamCaptureStatusNone ? cudaSuccess : cudaErrorStreamCaptureUnsupported;
  }
  // The call that follows reports any other error.
  (void)cudaGetLastError();
  return is_capture(status) ? status : cudaSuccess;
}

void require_no_capture(cuda::stream_ref stream)
{
  auto const status = check_captures(stream);
  if (status == cudaErrorStreamCaptureUnsupported) {
    throw std::invalid_argument{
      "the stream is capturing a CUDA graph: call this before the capture begins or after it ends, "
      "or use another stream"};
  }
  if (status == cudaErrorStreamCaptureImplicit) {
    throw std::invalid_argument{
      "the legacy default stream is unusable while a blocking stream is capturing a CUDA graph: "
      "capture a non-blocking stream, or use another stream"};
  }
}

}  // namespace cudf_arrow_bridge::detail

namespace cudf_arrow_bridge {

void enter_thread(rmm::cuda_device_id device) noexcept
{
  if (device.value() < 0) { return; }
  RMM_ASSERT_CUDA_SUCCESS(cudaSetDevice(device.value()));
  auto mode = cudaStreamCaptureModeRelaxed;
  RMM_ASSERT_CUDA_SUCCESS(cudaThreadExchangeStreamCaptureMode(&mode));
}

}  // namespace cudf_arrow_bridge
