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

namespace cudf_arrow_bridge::detail {

/// A producer's array, or a copy of it, at a place where columns can be made of it.
struct source_array {
  ArrowArray root;      ///< what the struct said; follow its pointers while `share` is there
  foreign_share share;  ///< of that struct
  execution exec;       ///< of its buffers, and of conversions
  bool to_upload;       ///< whether columns made of it are to go on to the current device
};

/**
 * @brief Takes an array over and, where need be, brings it to where the import is to end up.
 *
 * Makes `stream` wait for the producer. Arrays of another device are copied if the options allow
 * it.
 *
 * @throws std::invalid_argument for unknown or foreign devices, an event that CUDA rejects, or
 *   contents of device memory that a full validation refuses. `array` is then still the caller's.
 *
 * @param types Types that the array has been validated for
 * @param array Array to take over
 * @param options See there
 * @param path Names the top level in errors
 * @param stream Stream of the import
 * @param mr Resource for copies and conversions on the GPU
 */
source_array open_source(parsed_tree const& types,
                         ArrowDeviceArray* array,
                         import_options const& options,
                         column_path const& path,
                         cuda::stream_ref stream,
                         rmm::device_async_resource_ref mr);

}  // namespace cudf_arrow_bridge::detail
