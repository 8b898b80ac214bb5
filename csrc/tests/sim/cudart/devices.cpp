// SPDX-License-Identifier: Apache-2.0
#include "sim/detail/machine.hpp"

#include <cuda_runtime_api.h>

#include <string_view>
#include <vector>

using sim::detail::call;
using sim::detail::current_device;

namespace {

/// `cuMemGetAddressRange`, the only driver function that the core looks up.
int address_range(unsigned long long* base, std::size_t* size, unsigned long long address)
{
  constexpr int not_found = 500;
  auto& all               = sim::detail::machine::instance();
  auto const lock         = std::unique_lock{all.mutex};
  auto const* block       = all.memory.find(reinterpret_cast<void const*>(address));
  if (block == nullptr || block->kind == sim::memory_kind::pageable) { return not_found; }
  *base = reinterpret_cast<std::uintptr_t>(block->data);
  *size = block->size;
  return 0;
}

}  // namespace

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

cudaError_t cudaDeviceSynchronize()
{
  return call(__func__, [&](auto& all, auto& lock) {
    if (auto const status = all.check_unsafe_call(); status != cudaSuccess) { return status; }
    all.count_host_sync();
    all.violations.emplace_back("a whole device was synchronised");
    all.wait_for_device(lock, current_device());
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
    auto const known = std::string_view{symbol} == "cuMemGetAddressRange";
    *function        = known ? reinterpret_cast<void*>(&address_range) : nullptr;
    if (result != nullptr) {
      *result = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    }
    return cudaSuccess;
  });
}
