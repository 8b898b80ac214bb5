// SPDX-License-Identifier: Apache-2.0
#include "import/layouts.hpp"

namespace cudf_arrow_bridge::detail {

column_parts import_values(column_importer const& importer, import_level const& level)
{
  auto const& rows  = level.rows;
  auto const& where = importer.where();
  auto const type   = level.type().column;
  auto const* bytes = static_cast<std::byte const*>(level.array.buffers[1]);
  if (type.id() == cudf::type_id::BOOL8) {
    return {unpack_bools({bytes, rows.storage_begin(), rows.storage_size()}, where), {}};
  }
  if (rows.storage_size() == 0) { return {importer.no_buffer(), {}}; }
  auto const width  = level.type().element_bits / 8;
  auto const* first = bytes + rows.storage_begin() * width;
  if (level.type().row->on_import != crossing::converted) {
    return {importer.take_aligned(first, rows.storage_size() * width, width), {}};
  }
  return {type.id() == cudf::type_id::FLOAT32
            ? widen_halves(first, rows.num_rows(), where)
            : cast_values(first, rows.num_rows(), cudf::type_id::INT32, type.id(), where),
          {}};
}

}  // namespace cudf_arrow_bridge::detail
