// SPDX-License-Identifier: Apache-2.0
#include "cuda/location/location_finder.hpp"

#include "cuda/location/allocation.hpp"

#include <rmm/cuda_device.hpp>

#include <iterator>
#include <stdexcept>

namespace cudf_arrow_bridge::detail {

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
      throw std::invalid_argument{"buffers of one export in different places: " +
                                  to_string(expected) + " and " + to_string(location)};
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

}  // namespace cudf_arrow_bridge::detail
