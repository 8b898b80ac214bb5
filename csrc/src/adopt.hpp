// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/owners.hpp>

#include <rmm/device_buffer.hpp>
#include <rmm/resource_ref.hpp>

#include <cuda/stream>

#include <cstdint>
#include <memory>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Makes a buffer out of memory that belongs to somebody else.
 *
 * The buffer holds one share of `owner` until its memory is freed. A buffer of no bytes holds none.
 * Memory on a GPU may still be read by work queued on the stream that the buffer is freed on, so
 * the share is dropped only once that work is done.
 *
 * @param owner The producer's struct; released when the last share is gone
 * @param memory Foreign memory
 * @param size Bytes of it
 * @param host Whether it is pageable host memory, which no stream can be reading
 * @param stream Stream of the buffer
 * @param mr Where the buffer gets more memory from if it grows
 */
rmm::device_buffer adopt(std::shared_ptr<unique_device_array> owner,
                         void const* memory,
                         std::int64_t size,
                         bool host,
                         cuda::stream_ref stream,
                         rmm::device_async_resource_ref mr);

}  // namespace cudf_arrow_bridge::detail
