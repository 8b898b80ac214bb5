// SPDX-License-Identifier: Apache-2.0
#include "sim/detail/machine.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <string_view>
#include <vector>

using sim::detail::call;
using sim::detail::current_device;

cudaError_t cudaGetDeviceCount(int* count)
{
  return call(__func__, [&](auto& all, auto&) {
    *count = all.num_devices;
    return cudaSuccess;
  });
}

cudaError_t cudaDriverGetVersion(int* version)
{
  return call(__func__, [&](auto& all, auto&) {
    *version = all.driver_version;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device)
{
  return call(__func__, [&](auto&, auto&) {
    *device = current_device();
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device)
{
  return call(__func__, [&](auto& all, auto&) {
    if (device < 0 || device >= all.num_devices) { return cudaErrorInvalidDevice; }
    current_device() = device;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device)
{
  return call(__func__, [&](auto& all, auto&) {
    if (device < 0 || device >= all.num_devices) { return cudaErrorInvalidDevice; }
    if (attribute != cudaDevAttrPageableMemoryAccess) { return cudaErrorInvalidValue; }
    *value = device == all.reaches_pageable ? 1 : 0;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDriverEntryPointByVersion(char const* symbol,
                                             void** function,
                                             unsigned int,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* result)
{
  return call(__func__, [&](auto&, auto&) {
    auto const known = std::string_view{symbol} == "cuPointerGetAttributes";
    *function        = known ? reinterpret_cast<void*>(&cuPointerGetAttributes) : nullptr;
    if (result != nullptr) {
      *result = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    }
    return cudaSuccess;
  });
}
