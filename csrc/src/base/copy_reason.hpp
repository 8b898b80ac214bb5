// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace cudf_arrow_bridge::detail {

/// Why a buffer is made rather than shared.
enum class copy_reason : std::uint8_t {
  none,  ///< it is shared
  no_rows,
  bools,
  days,
  halves,
  times,
  mask_position,
  nulls_of_structs,
  null_rows,
  alignment,
  first_offset,
  wide_offsets,
  no_offsets,
  offset_width,
  views,
  list_views,
  runs,
  index_width,
  null_values,
  nested_dictionary,
  decoded,
  encoded,
  cast,
  lengths,
  upload,
  asked
};

/// What users read; empty for `none`.
std::string_view text_of(copy_reason reason) noexcept;

}  // namespace cudf_arrow_bridge::detail
