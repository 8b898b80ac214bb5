// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/memory.hpp>

#include <rmm/resource_ref.hpp>

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

/**
 * @brief The resource for host memory that a call makes, where its caller named one for its
 * results.
 *
 * Without a GPU results are in host memory, and the caller's resource gives that out. With one it
 * gives out device memory.
 */
rmm::device_async_resource_ref resource_of_host(rmm::device_async_resource_ref mr);

/**
 * @brief The resource for buffers that are made beside others, and belong on the device of these.
 *
 * Callers without a choice of their own pass the current device's resource, so that of the memory's
 * device takes its place.
 *
 * @throws std::invalid_argument if `mr` gives out memory of another device
 */
rmm::device_async_resource_ref resource_on_device(memory_location const& location,
                                                  rmm::device_async_resource_ref mr);

}  // namespace cudf_arrow_bridge::detail
