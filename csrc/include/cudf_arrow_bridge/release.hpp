// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/visibility.hpp>

namespace cudf_arrow_bridge {

/**
 * @brief Waits until all producers whose last buffer has been freed so far are released, but at
 * most 30 seconds.
 *
 * Imported device memory is released in stream order, by up to 8 threads of the library: see
 * `from_arrow_device_column`. Each thread waits for one stream at a time, so releases of a stream
 * are delayed by others only while 8 streams have unfinished work. Call this without holding a lock
 * that a producer's release callback may take, such as the GIL. It is called when the process
 * exits.
 *
 * Some producers free memory on their own streams when they are released: exports with converted
 * buffers, and the copies behind imports that copy or upload. Call this before destroying a stream
 * that was passed to one of these. A release may free other imports; their producers are released
 * by the next call.
 */
CUDF_ARROW_BRIDGE_EXPORT void drain_releases() noexcept;

}  // namespace cudf_arrow_bridge
