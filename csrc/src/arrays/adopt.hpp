// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arrays/foreign_array.hpp"

#include <rmm/device_buffer.hpp>
#include <rmm/resource_ref.hpp>

#include <cuda/stream>

#include <cstdint>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Wraps a producer's memory in a `device_buffer` without a copy.
 *
 * The buffer holds a share of the producer's struct until it is deallocated, and drops the share on
 * the stream of the deallocation. An empty buffer holds no share.
 *
 * @param share Share of the producer's struct
 * @param memory Address of the producer's memory
 * @param size Size in bytes
 * @param stream Stream of the buffer
 * @param mr Resource for reallocations, should the buffer grow
 */
rmm::device_buffer adopt(foreign_share&& share,
                         void const* memory,
                         std::int64_t size,
                         cuda::stream_ref stream,
                         rmm::device_async_resource_ref mr);

}  // namespace cudf_arrow_bridge::detail
