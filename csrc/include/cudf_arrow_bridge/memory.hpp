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

/// @return Whether this process can use a CUDA device; asked of CUDA once
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT bool has_gpu() noexcept;

/**
 * @brief What the memory behind a pointer is, and whose.
 *
 * Without a GPU everything is CPU memory.
 *
 * @throws rmm::cuda_error if CUDA cannot tell
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
