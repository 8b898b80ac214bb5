// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace cudf_arrow_bridge::detail {

/// Addresses from the first to the one behind the last.
struct allocation_range {
  std::uintptr_t begin;
  std::uintptr_t end;
};

/// @return The allocation that an address lies in, as CUDA's driver has it; the one byte where it
///   cannot tell
allocation_range allocation_around(void const* pointer);

/// @return Whether an allocation is known to end before the `size` bytes at an address do
bool ends_before(void const* pointer, std::size_t size);

}  // namespace cudf_arrow_bridge::detail
