// SPDX-License-Identifier: Apache-2.0
#include "layouts.hpp"
#include "offsets.hpp"
#include "validate.hpp"

namespace cudf_arrow_bridge::detail {

column_parts import_strings(column_importer const& importer, import_level const& level)
{
  auto const& where = importer.where();
  auto const size   = level.rows.storage_size();
  auto const width  = offset_width(level.type().layout);
  auto result       = column_parts{importer.no_buffer(), {}};
  if (size == 0) {
    // Nothing but an offset tells large strings from others, so one is made.
    if (width == 8) {
      result.children.push_back(importer.flat_column(cudf::type_id::INT64, 1, zeros(width, where)));
    }
    return result;
  }
  auto const end = read_offset(
    level.array.buffers[1], level.rows.storage_begin() + size, width, where.host, where.stream);
  check_string_data(end, level.array.buffers[2], level.path);
  result.children.push_back(adopt_offsets(importer, level));
  result.data = importer.take(level.array.buffers[2], end);
  return result;
}

}  // namespace cudf_arrow_bridge::detail
