// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/visibility.hpp>

namespace cudf_arrow_bridge {

/**
 * @brief Waits until all producers whose last buffer has been freed so far are released, for no
 * longer than 30 seconds.
 *
 * Imported device memory is released in stream order, by threads of the library: see
 * `from_arrow_device_column`. There are at most 8 of them, and while fewer streams than that are
 * late, these hold up no other stream's releases. Call this without holding anything that a
 * producer's release callback may want, the GIL among them. Happens by itself when the process
 * exits.
 *
 * Some producers free memory on streams of theirs when they are released: exports with converted
 * buffers, and the copies behind imports that copy or upload. Call this before destroying a stream
 * that was given to one of these. Releasing may free further imports, whose producers are released
 * by the next call.
 */
CUDF_ARROW_BRIDGE_EXPORT void drain_releases() noexcept;

}  // namespace cudf_arrow_bridge
