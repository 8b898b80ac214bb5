// SPDX-License-Identifier: Apache-2.0
#include "sim/detail/machine.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <utility>

namespace {

constexpr auto names = std::array{
  std::pair{cudaSuccess, "cudaSuccess"},
  std::pair{cudaErrorInvalidValue, "cudaErrorInvalidValue"},
  std::pair{cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation"},
  std::pair{cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection"},
  std::pair{cudaErrorInitializationError, "cudaErrorInitializationError"},
  std::pair{cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver"},
  std::pair{cudaErrorNoDevice, "cudaErrorNoDevice"},
  std::pair{cudaErrorInvalidDevice, "cudaErrorInvalidDevice"},
  std::pair{cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle"},
  std::pair{cudaErrorNotReady, "cudaErrorNotReady"},
  std::pair{cudaErrorIllegalAddress, "cudaErrorIllegalAddress"},
  std::pair{cudaErrorLaunchFailure, "cudaErrorLaunchFailure"},
  std::pair{cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported"},
  std::pair{cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit"},
  std::pair{cudaErrorNotPermitted, "cudaErrorNotPermitted"},
  std::pair{cudaErrorNotSupported, "cudaErrorNotSupported"},
};

cudaError_t sticky_error()
{
  return sim::detail::locked([](auto& all) { return all.faults.sticky(); });
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

char const* cudaGetErrorName(cudaError_t error)
{
  for (auto const& [known, name] : names) {
    if (known == error) { return name; }
  }
  return "unrecognized error code";
}

char const* cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }
