// SPDX-License-Identifier: Apache-2.0
#include "location_finder.hpp"

#include <rmm/cuda_device.hpp>

#include <cuda_runtime_api.h>

#include <iterator>
#include <stdexcept>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

/// `cuMemGetAddressRange` of the driver, which the runtime has no call for; null if it lacks it.
using address_range_function = int (*)(unsigned long long* base,
                                       std::size_t* size,
                                       unsigned long long pointer);

address_range_function address_range()
{
  static auto const function = [] {
    constexpr unsigned int cuda_12 = 12000;
    void* found                    = nullptr;
    auto result                    = cudaDriverEntryPointQueryResult{};
    auto const status              = cudaGetDriverEntryPointByVersion(
      "cuMemGetAddressRange", &found, cuda_12, cudaEnableDefault, &result);
    if (status != cudaSuccess) { (void)cudaGetLastError(); }
    return status == cudaSuccess ? reinterpret_cast<address_range_function>(found) : nullptr;
  }();
  return function;
}

/// The allocation around an address, or the address alone where the driver cannot tell.
std::pair<std::uintptr_t, std::uintptr_t> allocation_around(std::uintptr_t address)
{
  auto base = 0ULL;
  auto size = std::size_t{0};
  if (address_range() != nullptr && address_range()(&base, &size, address) == 0) {
    return {base, base + size};
  }
  return {address, address + 1};
}

}  // namespace

memory_location location_finder::find(void const* pointer)
{
  auto const address = reinterpret_cast<std::uintptr_t>(pointer);
  auto const behind  = known_.upper_bound(address);
  if (behind != known_.begin()) {
    auto const& before = std::prev(behind)->second;
    if (address < before.end) { return before.location; }
  }
  auto const location     = locate(pointer);
  auto const [begin, end] = location.device_type == ARROW_DEVICE_CPU
                              ? std::pair{address, address + 1}
                              : allocation_around(address);
  known_.insert_or_assign(begin, allocation{end, location});
  return location;
}

void location_finder::add(cudf::column_view const& column)
{
  if (!has_gpu()) { return; }
  for (void const* buffer : {column.head<void>(), static_cast<void const*>(column.null_mask())}) {
    if (buffer == nullptr) { continue; }
    auto const location = find(buffer);
    auto const expected = found_.value_or(location);
    if (expected != location) {
      throw std::invalid_argument{"buffers of one export in different places: " +
                                  to_string(expected) + " and " + to_string(location)};
    }
    found_ = location;
  }
  for (auto child = column.child_begin(); child != column.child_end(); ++child) { add(*child); }
}

memory_location location_finder::result() const
{
  if (!has_gpu()) { return {}; }
  return found_.value_or(
    memory_location{ARROW_DEVICE_CUDA, rmm::get_current_cuda_device().value()});
}

}  // namespace cudf_arrow_bridge::detail
