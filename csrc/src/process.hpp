// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cudf_arrow_bridge::detail {

/**
 * @brief Whether this process was forked off one that had loaded this library.
 *
 * CUDA does not survive a fork, and other threads are gone with whatever locks they held. All that
 * a child can do with device memory is leave it alone.
 */
[[nodiscard]] bool in_forked_child() noexcept;

}  // namespace cudf_arrow_bridge::detail
