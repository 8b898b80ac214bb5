// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cudf_arrow_bridge::detail {

/// What the buffers of an array are, in Arrow's order.
enum class array_layout : std::int8_t {
  null,        ///< none
  fixed,       ///< validity, data
  offsets32,   ///< validity, 32-bit offsets
  offsets64,   ///< validity, 64-bit offsets
  string32,    ///< validity, 32-bit offsets, data
  string64,    ///< validity, 64-bit offsets, data
  views,       ///< validity, views, data, the data's size in bytes
  validity,    ///< validity alone; children row by row
  fixed_lists  ///< validity alone; a fixed number of child rows for each row
};

/// @return How many buffers an array has, as the specification lays them out
constexpr std::int64_t num_buffers(array_layout layout) noexcept
{
  switch (layout) {
    case array_layout::null: return 0;
    case array_layout::validity:
    case array_layout::fixed_lists: return 1;
    case array_layout::fixed:
    case array_layout::offsets32:
    case array_layout::offsets64: return 2;
    case array_layout::string32:
    case array_layout::string64: return 3;
    case array_layout::views: return 4;
  }
  return 0;
}

/// @return Bytes of one offset of a layout that has offsets
constexpr std::int64_t offset_width(array_layout layout) noexcept
{ return layout == array_layout::offsets64 || layout == array_layout::string64 ? 8 : 4; }

}  // namespace cudf_arrow_bridge::detail
