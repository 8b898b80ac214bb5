// SPDX-License-Identifier: Apache-2.0
#include "sim/detail/machine.hpp"

#include <cuda_runtime_api.h>

using sim::memory_kind;
using sim::detail::call;
using sim::detail::current_device;

namespace {

auto allocating(void** memory, memory_kind kind, std::size_t size)
{
  return [=](auto& all, auto&) {
    *memory = all.memory.allocate(kind, current_device(), size, 0);
    return cudaSuccess;
  };
}

/// Frees as the synchronous functions do: whatever the device has to do is waited for.
auto freeing(void* memory)
{
  return [=](auto& all, auto& lock) {
    if (memory == nullptr) { return cudaSuccess; }
    auto const* found = all.memory.find(memory);
    if (found == nullptr) {
      all.violations.emplace_back("memory was freed that was not given out");
      return cudaErrorInvalidValue;
    }
    all.count_host_sync();
    all.wait_for_device(lock, found->device);
    return all.memory.deallocate(memory) ? cudaSuccess : cudaErrorInvalidValue;
  };
}

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
{ return call(__func__, allocating(memory, memory_kind::device, size)); }

cudaError_t cudaMallocManaged(void** memory, std::size_t size, unsigned int)
{ return call(__func__, allocating(memory, memory_kind::managed, size)); }

cudaError_t cudaMallocHost(void** memory, std::size_t size)
{ return call(__func__, allocating(memory, memory_kind::pinned, size)); }

cudaError_t cudaHostAlloc(void** memory, std::size_t size, unsigned int)
{
  return call(__func__, [=](auto& all, auto&) {
    all.count_host_sync();
    *memory = all.memory.keep(all.memory.allocate(memory_kind::pinned, current_device(), size, 0));
    return cudaSuccess;
  });
}

cudaError_t cudaFree(void* memory) { return call(__func__, freeing(memory)); }

cudaError_t cudaFreeHost(void* memory) { return call(__func__, freeing(memory)); }

cudaError_t cudaMallocAsync(void** memory, std::size_t size, cudaStream_t stream)
{
  return call(__func__, [&](auto& all, auto&) {
    auto const* found = all.find_stream(stream);
    if (found == nullptr) { return cudaErrorInvalidResourceHandle; }
    *memory = all.memory.allocate(memory_kind::device, found->device, size, found->id);
    return cudaSuccess;
  });
}

cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream)
{
  return call(__func__, [&](auto& all, auto& lock) {
    auto* found = all.find_stream(stream);
    if (found == nullptr) { return cudaErrorInvalidResourceHandle; }
    return all.free_on(lock, *found, memory) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, void const* pointer)
{
  return call(__func__, [&](auto& all, auto&) {
    *attributes        = {};
    attributes->type   = cudaMemoryTypeUnregistered;
    attributes->device = cudaInvalidDeviceId;
    auto* address      = const_cast<void*>(pointer);
    auto const* found  = all.memory.find(pointer);
    auto const on_host = found == nullptr || found->kind != memory_kind::device;
    if (on_host) { attributes->hostPointer = address; }
    if (found != nullptr && found->kind != memory_kind::pageable) {
      attributes->type          = type_of(found->kind);
      attributes->device        = found->device;
      attributes->devicePointer = address;
    }
    return cudaSuccess;
  });
}
