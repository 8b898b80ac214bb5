// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cudf_arrow_bridge::detail {

/**
 * @brief Asks CUDA, each time, whether this process can use a device.
 *
 * "No" is the answer only where no driver is installed, or where there is no device or none is
 * meant to be seen (an empty `CUDA_VISIBLE_DEVICES`). Whatever else CUDA says is a fault, which
 * must not pass for a machine without a GPU.
 *
 * @throws rmm::cuda_error if CUDA fails in another way: a driver older than the runtime, a
 *   `CUDA_VISIBLE_DEVICES` that names a device and leaves none, a driver that does not start
 * @throws std::runtime_error if the answer is "no" while `CUDF_ARROW_BRIDGE_REQUIRE_GPU` is set, to
 *   anything but "0"
 */
[[nodiscard]] bool find_gpu();

}  // namespace cudf_arrow_bridge::detail
