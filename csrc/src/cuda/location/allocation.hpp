// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace cudf_arrow_bridge::detail {

/// A half-open range of addresses.
struct allocation_range {
  std::uintptr_t begin;
  std::uintptr_t end;
};

/// @return The allocation that contains an address, according to the CUDA driver; the one byte at
/// the
///   address if the driver does not know it
allocation_range allocation_around(void const* pointer);

/// @return Whether the allocation at `pointer` is known to end within the `size` bytes from there
bool ends_before(void const* pointer, std::size_t size);

}  // namespace cudf_arrow_bridge::detail
