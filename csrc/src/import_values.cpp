// SPDX-License-Identifier: Apache-2.0
#include "layouts.hpp"

namespace cudf_arrow_bridge::detail {

column_parts import_values(column_importer const& importer, import_level const& level)
{
  auto const& rows  = level.rows;
  auto const* bytes = static_cast<std::byte const*>(level.array.buffers[1]);
  if (level.type().column.id() == cudf::type_id::BOOL8) {
    return {unpack_bools({bytes, rows.storage_begin(), rows.storage_size()}, importer.where()), {}};
  }
  auto const width  = level.type().element_bits / 8;
  auto const* first = rows.storage_size() == 0 ? nullptr : bytes + rows.storage_begin() * width;
  return {importer.take_aligned(first, rows.storage_size() * width, width), {}};
}

}  // namespace cudf_arrow_bridge::detail
