// SPDX-License-Identifier: Apache-2.0
#include "sim/detail/machine.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <utility>

namespace {

struct description {
  cudaError_t error;
  char const* name;
  char const* text;
};

constexpr auto descriptions = std::array{
  description{cudaSuccess, "cudaSuccess", "no error"},
  description{cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
  description{cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
  description{
    cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction"},
  description{cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
  description{cudaErrorInsufficientDriver,
              "cudaErrorInsufficientDriver",
              "CUDA driver version is insufficient for CUDA runtime version"},
  description{cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
  description{cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
  description{
    cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
  description{cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
  description{
    cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
  description{cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
  description{cudaErrorStreamCaptureUnsupported,
              "cudaErrorStreamCaptureUnsupported",
              "operation not permitted when stream is capturing"},
  description{cudaErrorStreamCaptureImplicit,
              "cudaErrorStreamCaptureImplicit",
              "operation would make the legacy stream depend on a capturing blocking stream"},
  description{cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
  description{cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
};

description describe(cudaError_t error)
{
  for (auto const& known : descriptions) {
    if (known.error == error) { return known; }
  }
  return {error, "unrecognized error code", "unrecognized error code"};
}

cudaError_t sticky_error()
{
  auto& all       = sim::detail::machine::instance();
  auto const lock = std::unique_lock{all.mutex};
  return all.faults.sticky();
}

}  // namespace

cudaError_t cudaGetLastError()
{
  auto const sticky = sticky_error();
  auto const last   = std::exchange(sim::detail::last_error(), cudaSuccess);
  return sticky != cudaSuccess ? sticky : last;
}

cudaError_t cudaPeekAtLastError()
{
  auto const sticky = sticky_error();
  return sticky != cudaSuccess ? sticky : sim::detail::last_error();
}

char const* cudaGetErrorName(cudaError_t error) { return describe(error).name; }

char const* cudaGetErrorString(cudaError_t error) { return describe(error).text; }
