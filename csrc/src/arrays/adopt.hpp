// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arrays/foreign_array.hpp"

#include <rmm/device_buffer.hpp>
#include <rmm/resource_ref.hpp>

#include <cuda/stream>

#include <cstdint>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Makes a buffer out of memory that belongs to somebody else.
 *
 * The buffer holds its share until its memory is freed, then gives it back on the stream that it is
 * freed on. A buffer of no bytes holds none.
 *
 * @param share Share of the producer's struct
 * @param memory Foreign memory
 * @param size Bytes of it
 * @param stream Stream of the buffer
 * @param mr Where the buffer gets more memory from if it grows
 */
rmm::device_buffer adopt(foreign_share&& share,
                         void const* memory,
                         std::int64_t size,
                         cuda::stream_ref stream,
                         rmm::device_async_resource_ref mr);

}  // namespace cudf_arrow_bridge::detail
