// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/visibility.hpp>

#include <rmm/resource_ref.hpp>

#include <string>

namespace cudf_arrow_bridge {

/// Where memory lives, in the terms of Arrow's C device data interface.
struct memory_location {
  ArrowDeviceType device_type{ARROW_DEVICE_CPU};
  std::int64_t device_id{-1};  ///< CUDA ordinal of the owning device; -1 for CPU memory

  bool operator==(memory_location const&) const = default;
};

/**
 * @brief Whether this process can use a CUDA device.
 *
 * CUDA is asked until it has answered once. "No" means that no driver is installed or that there is
 * no device; columns then live in host memory.
 *
 * @throws rmm::cuda_error if CUDA fails in another way: a driver that is too old or does not start,
 * a `CUDA_VISIBLE_DEVICES` that names a device and leaves none
 * @throws std::runtime_error if there is none and the environment's `CUDF_ARROW_BRIDGE_REQUIRE_GPU`
 *   is set, to anything but "0"
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT bool has_gpu();

/**
 * @brief What the memory behind a pointer is, and whose.
 *
 * Without a GPU everything is CPU memory.
 *
 * @throws rmm::cuda_error if CUDA cannot tell; what `has_gpu` throws
 *
 * @param pointer Any address; not dereferenced
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT memory_location locate(void const* pointer);

/// @return A readable name such as "CUDA device 1" for messages
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT std::string to_string(memory_location const& location);

/**
 * @brief Resource of pageable host memory, aligned to 64 bytes as Arrow recommends.
 *
 * It stands in for a device resource where columns live in host memory. Stream arguments are
 * ignored: allocation and deallocation take place at once.
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT rmm::device_async_resource_ref host_memory_resource();

}  // namespace cudf_arrow_bridge
