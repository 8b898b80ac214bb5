// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/visibility.hpp>

namespace cudf_arrow_bridge {

/// @addtogroup release Release of memory
/// @{

/**
 * @brief Waits until all producers whose last buffer is freed are released, at most 30 seconds.
 *
 * Imported device memory is released in stream order: see `from_arrow_device_column`. No stream
 * delays the releases of another. Call this without holding a lock that a producer's release
 * callback may take, such as the GIL. It is called when the process exits.
 *
 * Some producers free memory on their own streams when they are released: exports with converted
 * buffers, and the copies behind imports that copy or upload. Call this before destroying a stream
 * that was passed to one of these. A release may free other imports; their producers are released
 * by the next call.
 *
 * If it returns true, a failed allocation can be retried. As the callback of
 * `rmm::mr::failure_callback_resource_adaptor` it does this for all allocations of a resource.
 *
 * @return Whether a producer had to wait and was released since the last call; false in a release
 *   callback
 */
CUDF_ARROW_BRIDGE_EXPORT bool drain_releases() noexcept;

/// @}

}  // namespace cudf_arrow_bridge
