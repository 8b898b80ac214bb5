// SPDX-License-Identifier: Apache-2.0
#include "cuda/location/location.hpp"

#include "cuda/location/large_blocks.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <rmm/cuda_device.hpp>
#include <rmm/detail/error.hpp>
#include <rmm/device_buffer.hpp>
#include <rmm/error.hpp>
#include <rmm/mr/per_device_resource.hpp>

#include <cuda/memory_resource>
#include <cuda/stream>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

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

/// Allocates from a resource to find its device, which it does not report.
void check_device(rmm::cuda_device_id device, rmm::device_async_resource_ref mr)
{
  auto const guard  = rmm::cuda_set_device_raii{device};
  auto const tried  = rmm::device_buffer{1, cuda::stream_ref{cudaStream_t{}}, mr};
  auto const wanted = memory_location{ARROW_DEVICE_CUDA, device.value()};
  auto const given  = locate(tried.data());
  if (given.device_type == ARROW_DEVICE_CUDA && given != wanted) {
    throw std::invalid_argument{"expected a memory resource for " + to_string(wanted) +
                                ", the memory of the columns, got one for " + to_string(given)};
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

memory_location location_finder::find(void const* pointer)
{
  auto const address = reinterpret_cast<std::uintptr_t>(pointer);
  auto const next    = allocations_.upper_bound(address);
  if (next != allocations_.begin()) {
    auto const& candidate = std::prev(next)->second;
    if (address < candidate.end) { return candidate.location; }
  }
  auto const location     = locate(pointer);
  auto const [begin, end] = location.device_type == ARROW_DEVICE_CPU
                              ? allocation_range{address, address + 1}
                              : allocation_around(pointer);
  allocations_.insert_or_assign(begin, allocation{end, location});
  return location;
}

void location_finder::add(cudf::column_view const& column)
{
  if (!has_gpu()) { return; }
  for (void const* buffer : {column.head<void>(), static_cast<void const*>(column.null_mask())}) {
    if (buffer == nullptr) { continue; }
    auto const location = find(buffer);
    auto const expected = location_.value_or(location);
    if (expected != location) {
      throw std::invalid_argument{"expected buffers of one export in " + to_string(expected) +
                                  ", got one in " + to_string(location)};
    }
    location_ = location;
  }
  for (auto child = column.child_begin(); child != column.child_end(); ++child) { add(*child); }
}

memory_location location_finder::result() const
{
  if (!has_gpu()) { return {}; }
  return location_.value_or(
    memory_location{ARROW_DEVICE_CUDA, rmm::get_current_cuda_device().value()});
}

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
