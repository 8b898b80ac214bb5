// SPDX-License-Identifier: Apache-2.0
#include "cuda/location/allocation.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <rmm/cuda_device.hpp>
#include <rmm/device_buffer.hpp>
#include <rmm/mr/per_device_resource.hpp>

#include <cuda/stream>
#include <cuda_runtime_api.h>

#include <optional>
#include <stdexcept>
#include <string>

namespace cudf_arrow_bridge::detail {
namespace {

/// The driver's `cuMemGetAddressRange`, which the runtime does not wrap.
using address_range_function = int (*)(unsigned long long* base,
                                       std::size_t* size,
                                       unsigned long long pointer);

/// @return The driver's function; null if the driver does not have it
address_range_function address_range()
{
  static auto const function = [] {
    constexpr unsigned int cuda_12 = 12000;
    void* entry_point              = nullptr;
    auto result                    = cudaDriverEntryPointQueryResult{};
    auto const status              = cudaGetDriverEntryPointByVersion(
      "cuMemGetAddressRange", &entry_point, cuda_12, cudaEnableDefault, &result);
    if (status != cudaSuccess) { (void)cudaGetLastError(); }
    return status == cudaSuccess ? reinterpret_cast<address_range_function>(entry_point) : nullptr;
  }();
  return function;
}

/// @return The allocation that contains an address; none if the driver does not know it
std::optional<allocation_range> find_allocation(std::uintptr_t address)
{
  auto base = 0ULL;
  auto size = std::size_t{0};
  if (address_range() == nullptr || address_range()(&base, &size, address) != 0) { return {}; }
  return allocation_range{base, base + size};
}

/// Tries a resource, as none tells its device.
void check_device(rmm::cuda_device_id device, rmm::device_async_resource_ref mr)
{
  auto const guard  = rmm::cuda_set_device_raii{device};
  auto const tried  = rmm::device_buffer{1, cuda::stream_ref{cudaStream_t{}}, mr};
  auto const wanted = memory_location{ARROW_DEVICE_CUDA, device.value()};
  auto const given  = locate(tried.data());
  if (given.device_type == ARROW_DEVICE_CUDA && given != wanted) {
    throw std::invalid_argument{"a memory resource that gives out " + to_string(given) +
                                " found, " + to_string(wanted) + " expected, as the columns are"};
  }
}

}  // namespace

allocation_range allocation_around(void const* pointer)
{
  auto const address = reinterpret_cast<std::uintptr_t>(pointer);
  return find_allocation(address).value_or(allocation_range{address, address + 1});
}

bool ends_before(void const* pointer, std::size_t size)
{
  auto const address    = reinterpret_cast<std::uintptr_t>(pointer);
  auto const allocation = find_allocation(address);
  return allocation && allocation->end < address + size;
}

rmm::device_async_resource_ref resource_of_host(rmm::device_async_resource_ref mr)
{ return has_gpu() ? host_memory_resource() : mr; }

rmm::device_async_resource_ref resource_on_device(memory_location const& location,
                                                  rmm::device_async_resource_ref mr)
{
  if (location.device_type == ARROW_DEVICE_CPU) { return mr; }
  auto const device = rmm::cuda_device_id{static_cast<int>(location.device_id)};
  if (device == rmm::get_current_cuda_device()) { return mr; }
  auto const usual = rmm::mr::get_per_device_resource_ref(device);
  if (mr == rmm::mr::get_current_device_resource_ref()) { return usual; }
  if (mr != usual) { check_device(device, mr); }
  return mr;
}

}  // namespace cudf_arrow_bridge::detail
