// SPDX-License-Identifier: Apache-2.0
#include "import/layouts.hpp"
#include "import/offsets.hpp"
#include "validate/validate.hpp"

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
  auto const ends   = importer.ends_of(level);
  auto const origin = origin_of(level.type(), level.rows, ends);
  check_string_data(ends.last, level.array.buffers[2], level.path);
  auto const* bytes = static_cast<std::byte const*>(level.array.buffers[2]);
  auto const type   = width == 8 ? cudf::type_id::INT64 : cudf::type_id::INT32;
  result.children.push_back(import_offsets(importer, level, origin, type));
  result.data = importer.take(bytes + origin, ends.last - origin);
  return result;
}

}  // namespace cudf_arrow_bridge::detail
