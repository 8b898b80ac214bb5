// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arrays/foreign_array.hpp"
#include "base/errors.hpp"
#include "base/parsed_type.hpp"
#include "compute/buffers.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/import.hpp>

#include <rmm/resource_ref.hpp>

#include <cuda/stream>

#include <span>

namespace cudf_arrow_bridge::detail {

/// Arguments of an import, with the schema's types.
struct import_call {
  parsed_tree const& types;  ///< types that the array was validated against
  bool is_table;             ///< whether the array is imported as a table, otherwise as a column
  ArrowDeviceArray* array;
  import_options const& options;
  column_path const& path;  ///< names the top level in errors
  cuda::stream_ref stream;
  rmm::device_async_resource_ref mr;  ///< for copies and conversions on the GPU
};

/// A producer's array, or a copy of it, in memory from which columns can be made.
struct source_array {
  ArrowArray root;  ///< copy of the struct; its pointers are valid as long as `share`
  std::shared_ptr<foreign_array> share;
  execution exec;  ///< location of the buffers, and stream and resource of conversions
  bool to_upload;  ///< whether the columns are created on the host and then uploaded
};

/**
 * @brief Takes ownership of an array and, if `options.copy` is `always`, copies it to the current
 * device.
 *
 * Makes `stream` wait for the array's `sync_event`. An array on another device is accepted only
 * if it is copied.
 *
 * @throws std::invalid_argument for an unknown device type, another device or an upload that
 *   `options.copy` does not allow, an event that CUDA rejects, or contents of device memory that
 *   full validation rejects. The caller then still owns `call.array`.
 */
source_array open_source(import_call const& call);

/**
 * @brief Replaces columns in host memory by copies on the current device, with one upload.
 *
 * Buffers of less than 1 MiB are packed into blocks of at most 64 MiB, which live until the last
 * buffer in them is freed. The copies are enqueued without synchronization, except for large
 * uploads (see `host_upload`). The host columns are freed when this returns. Masks are padded to
 * libcudf's mask size.
 */
void upload(std::span<imported_column> columns,
            cuda::stream_ref stream,
            rmm::device_async_resource_ref mr);

}  // namespace cudf_arrow_bridge::detail
