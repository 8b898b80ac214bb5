// SPDX-License-Identifier: Apache-2.0
#include "cuda/location/find_gpu.hpp"
#include "cuda/location/large_blocks.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <rmm/detail/error.hpp>

#include <cuda/memory_resource>
#include <cuda/stream>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>

namespace cudf_arrow_bridge {
namespace {

constexpr std::size_t arrow_alignment = 64;

/// Pageable host memory with the interface of a device memory resource.
struct host_resource {
  static void* allocate_sync(std::size_t bytes, std::size_t alignment = arrow_alignment)
  {
    auto const step = std::max(alignment, arrow_alignment);
    if (bytes > std::numeric_limits<std::size_t>::max() - step) { throw std::bad_alloc{}; }
    if (auto* spare = detail::take_spare_block(bytes, step)) { return spare; }
    auto* memory = std::aligned_alloc(step, (bytes + step - 1) / step * step);
    if (memory == nullptr && bytes > 0) { throw std::bad_alloc{}; }
    detail::use_huge_pages(memory, bytes);
    return memory;
  }

  static void deallocate_sync(void* memory, std::size_t, std::size_t = arrow_alignment) noexcept
  {
    if (!detail::keep_spare_block(memory)) { std::free(memory); }
  }

  static void* allocate(cuda::stream_ref,
                        std::size_t bytes,
                        std::size_t alignment = arrow_alignment)
  { return allocate_sync(bytes, alignment); }

  static void deallocate(cuda::stream_ref,
                         void* memory,
                         std::size_t bytes,
                         std::size_t alignment = arrow_alignment) noexcept
  { deallocate_sync(memory, bytes, alignment); }

  bool operator==(host_resource const&) const noexcept { return true; }

  friend void get_property(host_resource const&, cuda::mr::device_accessible) noexcept {}

  friend void get_property(host_resource const&, cuda::mr::host_accessible) noexcept {}
};

}  // namespace

bool has_gpu()
{
  // An exception leaves the variable uninitialised, so the next call asks CUDA again.
  static bool const is_available = detail::find_gpu();
  return is_available;
}

memory_location locate(void const* pointer)
{
  if (!has_gpu()) { return {}; }
  cudaPointerAttributes attributes{};
  RMM_CUDA_TRY(cudaPointerGetAttributes(&attributes, pointer));
  switch (attributes.type) {
    case cudaMemoryTypeDevice: return {ARROW_DEVICE_CUDA, attributes.device};
    case cudaMemoryTypeManaged: return {ARROW_DEVICE_CUDA_MANAGED, attributes.device};
    case cudaMemoryTypeHost: return {ARROW_DEVICE_CUDA_HOST, attributes.device};
    default: return {};
  }
}

std::string to_string(memory_location const& location)
{
  auto const on_device = [&](char const* kind) {
    return kind + std::string{" of CUDA device "} + std::to_string(location.device_id);
  };
  switch (location.device_type) {
    case ARROW_DEVICE_CPU: return "CPU memory";
    case ARROW_DEVICE_CUDA: return on_device("memory");
    case ARROW_DEVICE_CUDA_HOST: return on_device("pinned host memory");
    case ARROW_DEVICE_CUDA_MANAGED: return on_device("managed memory");
    default: return "memory of the unknown device type " + std::to_string(location.device_type);
  }
}

rmm::device_async_resource_ref host_memory_resource()
{
  static host_resource resource;
  return resource;
}

}  // namespace cudf_arrow_bridge
