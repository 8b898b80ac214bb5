// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/memory.hpp>

#include <cudf/column/column_view.hpp>

#include <rmm/cuda_device.hpp>
#include <rmm/resource_ref.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace cudf_arrow_bridge::detail {

/// An allocation of memory that CUDA knows. Its size is 0 if only the location is known.
struct allocation {
  std::uintptr_t begin;
  std::size_t size;
  memory_location location;
};

/**
 * @return The allocation that contains an address; CPU memory without a size if CUDA does not know
 * it
 * @throws rmm::cuda_error as `locate` does
 */
allocation allocation_at(void const* pointer);

/// @return Whether the allocation at `pointer` is known to end before `size` bytes
bool ends_before(void const* pointer, std::size_t size);

/**
 * @brief The resource for new buffers that have to be where existing buffers are.
 *
 * CPU memory comes from `mr` without a GPU; with one, `mr` allocates device memory, and
 * `host_memory_resource` is used instead. If `mr` is the resource of the current device, the
 * default, the resource of the memory's device is used instead.
 *
 * @throws std::invalid_argument if `mr` allocates memory of another device
 */
rmm::device_async_resource_ref resource_at(memory_location const& location,
                                           rmm::device_async_resource_ref mr);

/// Makes a device current during the lifetime of the result, because default streams belong to the
/// current device. A negative number leaves the current device unchanged.
inline std::optional<rmm::cuda_set_device_raii> guard_device(rmm::cuda_device_id device)
{
  if (device.value() < 0) { return std::nullopt; }
  return std::optional<rmm::cuda_set_device_raii>{std::in_place, device};
}

/// Makes the device of some memory current. CPU memory leaves the current device unchanged.
inline std::optional<rmm::cuda_set_device_raii> guard_device(memory_location const& location)
{
  auto const is_cpu = location.device_type == ARROW_DEVICE_CPU;
  return guard_device(rmm::cuda_device_id{is_cpu ? -1 : static_cast<int>(location.device_id)});
}

/// @return The current device; CPU memory if there is no GPU
memory_location current_location();

/**
 * @brief Finds the kind and device of the memory that holds all buffers of some columns and of
 * their children.
 *
 * CUDA is asked once for consecutive buffers in a few allocations: all columns of a table from a
 * memory pool may be in one. The results are kept only during the call, because addresses may be
 * freed and reused for another kind of memory.
 *
 * @throws std::invalid_argument if the buffers are in memory of several kinds or devices
 * @throws rmm::cuda_error if CUDA fails
 *
 * @return The location of all buffers; if there are none, that of new columns
 */
memory_location locate_columns(std::span<cudf::column_view const> columns);

/**
 * @brief Asks CUDA at each call whether this process can use a device.
 *
 * @return False only if no driver is installed, no device is present, or `CUDA_VISIBLE_DEVICES`
 * hides all devices. Other failures throw, so that a fault is not taken for a host without a GPU.
 *
 * @throws rmm::cuda_error if CUDA fails in another way: the driver is older than the runtime or
 * does not start, or `CUDA_VISIBLE_DEVICES` names a device but none is usable
 * @throws std::runtime_error if there is no GPU and `CUDF_ARROW_BRIDGE_REQUIRE_GPU` is set to
 *   anything but "0"
 */
[[nodiscard]] bool find_gpu();

}  // namespace cudf_arrow_bridge::detail
