// SPDX-License-Identifier: Apache-2.0
#include "cuda/location/find_gpu.hpp"

#include <rmm/error.hpp>

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cudf_arrow_bridge::detail {
namespace {

constexpr auto visible_devices = "CUDA_VISIBLE_DEVICES";
constexpr auto require_gpu     = "CUDF_ARROW_BRIDGE_REQUIRE_GPU";

std::string_view environment(char const* name)
{
  auto const* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view{value};
}

/// @return Whether a value of `CUDA_VISIBLE_DEVICES` makes any device visible. An empty list, or
/// one whose first entry is no device (such as "-1"), hides all.
bool names_a_device(std::string_view visible)
{
  return visible.starts_with("GPU-") || visible.starts_with("MIG-") ||
         (!visible.empty() && visible.front() >= '0' && visible.front() <= '9');
}

std::string version(int number)
{ return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10); }

/// @return Why there is no GPU, if no driver is installed or no device is present
/// @throws rmm::cuda_error for any other reason
std::string reason_for_no_gpu(cudaError_t status)
{
  auto const error = std::string{cudaGetErrorName(status)} + ", " + cudaGetErrorString(status);
  if (status == cudaErrorInsufficientDriver) {
    // The runtime returns this error also without a driver, and then reports driver version 0.
    int driver = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess) { (void)cudaGetLastError(); }
    if (driver == 0) { return "no CUDA driver is installed"; }
    throw rmm::cuda_error{"the CUDA driver is too old: it supports CUDA " + version(driver) +
                          ", this build needs CUDA " + version(CUDART_VERSION) + " (" + error +
                          ")"};
  }
  auto const visible = environment(visible_devices);
  if (status == cudaErrorNoDevice && !names_a_device(visible)) { return "no CUDA device is there"; }
  auto setting = std::string{};
  if (!visible.empty()) {
    setting.append("; ").append(visible_devices).append("=").append(visible);
  }
  throw rmm::cuda_error{"CUDA finds no usable device: " + error + setting};
}

}  // namespace

bool find_gpu()
{
  int count         = 0;
  auto const status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) { return true; }
  // Clear the last error, so that later CUDA calls do not report it again.
  (void)cudaGetLastError();
  auto const reason = reason_for_no_gpu(status == cudaSuccess ? cudaErrorNoDevice : status);
  if (auto const required = environment(require_gpu); !required.empty() && required != "0") {
    throw std::runtime_error{std::string{require_gpu} + "=" + std::string{required} +
                             " asks for a GPU, but " + reason};
  }
  return false;
}

}  // namespace cudf_arrow_bridge::detail
