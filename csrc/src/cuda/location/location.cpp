// SPDX-License-Identifier: Apache-2.0
#include "cuda/location/location.hpp"

#include <rmm/detail/error.hpp>
#include <rmm/device_buffer.hpp>
#include <rmm/error.hpp>
#include <rmm/mr/per_device_resource.hpp>

#include <cuda.h>
#include <cuda/memory_resource>
#include <cuda/stream>
#include <cuda_runtime_api.h>

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cudf_arrow_bridge::detail {
namespace {

/// @return The driver's `cuPointerGetAttributes`, which the runtime does not wrap; null if there is
/// none
auto pointer_attributes()
{
  using signature            = decltype(&cuPointerGetAttributes);
  static auto const function = [] {
    constexpr unsigned int cuda_12 = 12000;
    void* entry_point              = nullptr;
    auto result                    = cudaDriverEntryPointQueryResult{};
    auto const status              = cudaGetDriverEntryPointByVersion(
      "cuPointerGetAttributes", &entry_point, cuda_12, cudaEnableDefault, &result);
    if (status != cudaSuccess) { (void)cudaGetLastError(); }
    return status == cudaSuccess ? reinterpret_cast<signature>(entry_point) : nullptr;
  }();
  return function;
}

/// Allocates from a resource to find its device, which it does not report.
void check_device(rmm::cuda_device_id device, rmm::device_async_resource_ref mr)
{
  auto const guard  = rmm::cuda_set_device_raii{device};
  auto const tried  = rmm::device_buffer{1, cuda::stream_ref{cudaStream_t{}}, mr};
  auto const wanted = memory_location{ARROW_DEVICE_CUDA, device.value()};
  auto const given  = locate(tried.data());
  if (given.device_type == ARROW_DEVICE_CUDA && given != wanted) {
    throw std::invalid_argument{"the columns are in " + to_string(wanted) +
                                ", and the memory resource allocates in " + to_string(given)};
  }
}

/// See `locate_columns`.
class location_finder {
 public:
  void add(cudf::column_view const& column)
  {
    for (void const* buffer : {column.head<void>(), static_cast<void const*>(column.null_mask())}) {
      if (buffer == nullptr) { continue; }
      auto const location = find(buffer);
      auto const expected = location_.value_or(location);
      if (expected != location) {
        throw std::invalid_argument{"the buffers are in " + to_string(expected) + " and in " +
                                    to_string(location)};
      }
      location_ = location;
    }
    for (auto child = column.child_begin(); child != column.child_end(); ++child) { add(*child); }
  }

  /// @return The location of the buffers that were added; none if there are none
  [[nodiscard]] std::optional<memory_location> const& result() const { return location_; }

 private:
  memory_location find(void const* pointer)
  {
    auto const known = std::find_if(recent_.begin(), recent_.end(), [&](allocation const& one) {
      return reinterpret_cast<std::uintptr_t>(pointer) - one.begin < one.size;
    });
    if (known != recent_.end()) { return known->location; }
    newest_ = (newest_ + 1) % recent_.size();
    return (recent_[newest_] = allocation_at(pointer)).location;
  }

  std::array<allocation, 8> recent_{};  ///< replaced in turn
  std::size_t newest_{0};               ///< index of the allocation found last
  std::optional<memory_location> location_;
};

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

allocation allocation_at(void const* pointer)
{
  auto result = allocation{};
  if (!has_gpu()) { return result; }
  auto kind       = 0U;  // a `CUmemorytype`; stays 0 for memory that CUDA does not know
  auto is_managed = 0U;
  auto device     = 0;
  auto names      = std::array{CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                               CU_POINTER_ATTRIBUTE_IS_MANAGED,
                               CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                               CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                               CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  auto values     = std::array<void*, 5>{&kind, &is_managed, &device, &result.begin, &result.size};
  if (auto const ask = pointer_attributes();
      ask == nullptr ||
      ask(names.size(), names.data(), values.data(), reinterpret_cast<std::uintptr_t>(pointer)) !=
        CUDA_SUCCESS) {
    auto attributes = cudaPointerAttributes{};
    RMM_CUDA_TRY(cudaPointerGetAttributes(&attributes, pointer));
    // The runtime numbers host and device memory as the driver does.
    is_managed = attributes.type == cudaMemoryTypeManaged ? 1 : 0;
    kind       = static_cast<unsigned int>(attributes.type);
    device     = attributes.device;
    result     = {};
  }
  if (is_managed != 0) {
    result.location = {ARROW_DEVICE_CUDA_MANAGED, device};
  } else if (kind == CU_MEMORYTYPE_DEVICE) {
    result.location = {ARROW_DEVICE_CUDA, device};
  } else if (kind == CU_MEMORYTYPE_HOST) {
    result.location = {ARROW_DEVICE_CUDA_HOST, device};
  }
  return result;
}

bool ends_before(void const* pointer, std::size_t size)
{
  auto const found = allocation_at(pointer);
  auto const after = reinterpret_cast<std::uintptr_t>(pointer) - found.begin;
  return found.size > 0 && found.size - after < size;
}

rmm::device_async_resource_ref resource_at(memory_location const& location,
                                           rmm::device_async_resource_ref mr)
{
  if (location.device_type == ARROW_DEVICE_CPU) { return has_gpu() ? host_memory_resource() : mr; }
  auto const device = rmm::cuda_device_id{static_cast<int>(location.device_id)};
  if (device == rmm::get_current_cuda_device()) { return mr; }
  auto const usual = rmm::mr::get_per_device_resource_ref(device);
  if (mr == rmm::mr::get_current_device_resource_ref()) { return usual; }
  if (mr != usual) { check_device(device, mr); }
  return mr;
}

memory_location current_location()
{
  if (!has_gpu()) { return {}; }
  return {ARROW_DEVICE_CUDA, rmm::get_current_cuda_device().value()};
}

memory_location locate_columns(std::span<cudf::column_view const> columns)
{
  if (!has_gpu()) { return {}; }
  auto finder = location_finder{};
  for (auto const& column : columns) { finder.add(column); }
  return finder.result().value_or(current_location());
}

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
constexpr std::size_t huge_page       = std::size_t{1} << 21;

/// Pageable host memory with the interface of a device memory resource.
struct host_resource {
  static void* allocate_sync(std::size_t bytes, std::size_t alignment = arrow_alignment)
  {
    // In huge pages, because the page faults of new memory take longer than writing to it.
    auto const is_huge = bytes >= 2 * huge_page;
    auto const step    = std::max(alignment, is_huge ? huge_page : arrow_alignment);
    if (bytes > std::numeric_limits<std::size_t>::max() - step) { throw std::bad_alloc{}; }
    auto const size = (bytes + step - 1) / step * step;
    auto* memory    = std::aligned_alloc(step, size);
    if (memory == nullptr && bytes > 0) { throw std::bad_alloc{}; }
    if (is_huge) { (void)madvise(memory, size, MADV_HUGEPAGE); }
    return memory;
  }

  static void deallocate_sync(void* memory, std::size_t, std::size_t = arrow_alignment) noexcept
  { std::free(memory); }

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

memory_location locate(void const* pointer) { return detail::allocation_at(pointer).location; }

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
