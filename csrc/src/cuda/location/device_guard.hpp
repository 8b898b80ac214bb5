// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/memory.hpp>

#include <rmm/cuda_device.hpp>

#include <optional>
#include <utility>

namespace cudf_arrow_bridge::detail {

/// Makes the device of some memory current while the result lives, because default streams are
/// those of the current device. CPU memory leaves the current device unchanged.
inline std::optional<rmm::cuda_set_device_raii> guard_device(memory_location const& location)
{
  if (location.device_type == ARROW_DEVICE_CPU) { return std::nullopt; }
  return std::optional<rmm::cuda_set_device_raii>{
    std::in_place, rmm::cuda_device_id{static_cast<int>(location.device_id)}};
}

}  // namespace cudf_arrow_bridge::detail
