// SPDX-License-Identifier: Apache-2.0
#include "sim/detail/machine.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

using sim::memory_kind;
using sim::detail::call;
using sim::detail::current_device;

namespace {

cudaMemoryType type_of(memory_kind kind)
{
  switch (kind) {
    case memory_kind::device: return cudaMemoryTypeDevice;
    case memory_kind::managed: return cudaMemoryTypeManaged;
    case memory_kind::pinned: return cudaMemoryTypeHost;
    default: return cudaMemoryTypeUnregistered;
  }
}

}  // namespace

cudaError_t cudaMalloc(void** memory, std::size_t size)
{
  return call(__func__, [=](auto& all, auto&) {
    if (auto const status = all.check_unsafe_call(); status != cudaSuccess) { return status; }
    *memory = all.memory.allocate(memory_kind::device, current_device(), size, 0);
    return cudaSuccess;
  });
}

cudaError_t cudaHostAlloc(void** memory, std::size_t size, unsigned int)
{
  return call(__func__, [=](auto& all, auto&) {
    if (auto const status = all.check_unsafe_call(); status != cudaSuccess) { return status; }
    all.count_host_sync();
    all.pinned_bytes += size;
    *memory = all.memory.keep(all.memory.allocate(memory_kind::pinned, current_device(), size, 0));
    return cudaSuccess;
  });
}

cudaError_t cudaFree(void* memory)
{
  return call(__func__, [=](auto& all, auto& lock) {
    if (memory == nullptr) { return cudaSuccess; }
    if (auto const status = all.check_unsafe_call(); status != cudaSuccess) { return status; }
    auto const* block = all.memory.find(memory);
    if (block == nullptr) {
      all.violations.emplace_back("memory was freed that was not given out");
      return cudaErrorInvalidValue;
    }
    all.count_host_sync();
    all.wait_for_device(lock, block->device);
    return all.memory.deallocate(memory) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, void const* pointer)
{
  return call(__func__, [&](auto& all, auto&) {
    *attributes        = {};
    attributes->type   = cudaMemoryTypeUnregistered;
    attributes->device = cudaInvalidDeviceId;
    auto* address      = const_cast<void*>(pointer);
    auto const* block  = all.memory.find(pointer);
    auto const on_host = block == nullptr || block->kind != memory_kind::device;
    if (on_host) { attributes->hostPointer = address; }
    if (block != nullptr && block->kind != memory_kind::pageable) {
      attributes->type          = type_of(block->kind);
      attributes->device        = block->device;
      attributes->devicePointer = address;
    }
    return cudaSuccess;
  });
}

/// The only driver function that the core looks up.
CUresult cuPointerGetAttributes(unsigned int count,
                                CUpointer_attribute* names,
                                void** values,
                                CUdeviceptr address)
{
  auto& all       = sim::detail::machine::instance();
  auto const lock = std::unique_lock{all.mutex};
  // Errors have the same numbers as those of the runtime.
  if (auto const status = all.begin_call(__func__); status != cudaSuccess) {
    return static_cast<CUresult>(status);
  }
  auto const* block = all.memory.find(reinterpret_cast<void const*>(address));
  // The attributes of memory that CUDA does not know are 0, which is not an error.
  auto const unknown = sim::detail::block{nullptr, 0, memory_kind::pageable, 0};
  if (block == nullptr || block->kind == memory_kind::pageable) { block = &unknown; }
  for (auto i = 0U; i < count; ++i) {
    switch (names[i]) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *static_cast<CUmemorytype*>(values[i]) = block == &unknown ? CUmemorytype{}
                                                 : block->kind == memory_kind::pinned
                                                   ? CU_MEMORYTYPE_HOST
                                                   : CU_MEMORYTYPE_DEVICE;
        break;
      case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *static_cast<unsigned int*>(values[i]) = block->kind == memory_kind::managed ? 1 : 0;
        break;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *static_cast<int*>(values[i]) = block->device;
        break;
      case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *static_cast<CUdeviceptr*>(values[i]) = reinterpret_cast<CUdeviceptr>(block->data);
        break;
      case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *static_cast<std::size_t*>(values[i]) = block->size;
        break;
      default: return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
}
