// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf/column/column.hpp>

#include <rmm/resource_ref.hpp>

#include <cuda/stream>

#include <memory>
#include <span>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Replaces host columns by copies on the current device, with one upload.
 *
 * The copies are enqueued without synchronization, except for large uploads (see `host_upload`).
 * The host columns are freed when this returns. Masks are padded to libcudf's mask size.
 */
void upload_columns(std::span<std::unique_ptr<cudf::column>*> columns,
                    cuda::stream_ref stream,
                    rmm::device_async_resource_ref mr);

}  // namespace cudf_arrow_bridge::detail
