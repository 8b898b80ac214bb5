// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cudf_arrow_bridge::detail {

/**
 * @brief Asks CUDA at each call whether this process can use a device.
 *
 * @return False only if no driver is installed, no device is present, or `CUDA_VISIBLE_DEVICES`
 * hides all devices. Other failures throw, so that a fault does not pass for a machine without a
 * GPU.
 *
 * @throws rmm::cuda_error if CUDA fails in another way: the driver is older than the runtime or
 * does not start, or `CUDA_VISIBLE_DEVICES` names a device but none is usable
 * @throws std::runtime_error if there is no GPU and `CUDF_ARROW_BRIDGE_REQUIRE_GPU` is set to
 *   anything but "0"
 */
[[nodiscard]] bool find_gpu();

}  // namespace cudf_arrow_bridge::detail
