// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/visibility.hpp>

#include <rmm/resource_ref.hpp>

#include <string>

namespace cudf_arrow_bridge {

/// @addtogroup memory Memory
/// @{

/// The kind and device of memory, as Arrow's C device data interface names them.
struct memory_location {
  ArrowDeviceType device_type{ARROW_DEVICE_CPU};  ///< kind of memory
  std::int64_t device_id{-1};  ///< CUDA ordinal of the owning device; -1 for CPU memory

  /// Compares kind and device.
  bool operator==(memory_location const&) const = default;
};

/**
 * @brief Whether this process can use a CUDA device.
 *
 * The first result is kept; after an exception the next call asks CUDA again. False means that no
 * driver is installed or that there is no device; columns are then in host memory.
 *
 * @throws rmm::cuda_error if CUDA fails in another way: the driver is too old or does not start, or
 *   `CUDA_VISIBLE_DEVICES` names a device but none is usable
 * @throws std::runtime_error if there is no GPU and the environment variable
 *   `CUDF_ARROW_BRIDGE_REQUIRE_GPU` is set to anything but "0"
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT bool has_gpu();

/**
 * @brief The kind and device of the memory that a pointer points to.
 *
 * Without a GPU everything is CPU memory.
 *
 * @throws rmm::cuda_error if `cudaPointerGetAttributes` fails, or as `has_gpu` does
 * @throws std::runtime_error as `has_gpu` does
 *
 * @param pointer Any address; not dereferenced
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT memory_location locate(void const* pointer);

/// @return A readable name for messages, such as "memory of CUDA device 1"
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT std::string to_string(memory_location const& location);

/**
 * @brief Resource of pageable host memory, aligned to 64 bytes as Arrow recommends.
 *
 * Used in place of a device resource for columns in host memory. Stream arguments are ignored:
 * allocation and deallocation take effect immediately.
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT rmm::device_async_resource_ref host_memory_resource();

/// @}

}  // namespace cudf_arrow_bridge
