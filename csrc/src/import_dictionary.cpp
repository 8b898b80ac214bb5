// SPDX-License-Identifier: Apache-2.0
#include "layouts.hpp"

namespace cudf_arrow_bridge::detail {
namespace {

using cudf::type_id;

/// libcudf's indices are signed. The bits of indices that fit are the same.
type_id signed_type(type_id found, std::int64_t num_values)
{
  switch (found) {
    case type_id::UINT8: return num_values > 128 ? type_id::INT16 : type_id::INT8;
    case type_id::UINT16: return num_values > 32'768 ? type_id::INT32 : type_id::INT16;
    case type_id::UINT32: return type_id::INT32;
    case type_id::UINT64: return type_id::INT64;
    default: return found;
  }
}

std::unique_ptr<cudf::column> indices(column_importer const& importer, import_level const& level)
{
  auto const found  = index_type(*level.types.schema);
  auto const wanted = signed_type(found, level.array.dictionary->length);
  auto const size   = level.rows.storage_size();
  auto const as_they =
    cudf::size_of(cudf::data_type{found}) == cudf::size_of(cudf::data_type{wanted});
  if (as_they) { return importer.flat_column(wanted, size, import_values(importer, level).data); }
  auto const width = level.type().element_bits / 8;
  auto const* first =
    static_cast<std::byte const*>(level.array.buffers[1]) + level.rows.storage_begin() * width;
  return importer.flat_column(
    wanted, size, cast_values(first, level.rows.num_rows(), found, wanted, importer.where()));
}

}  // namespace

column_parts import_dictionary(column_importer const& importer, import_level const& level)
{
  auto const& values = *level.array.dictionary;
  auto result        = column_parts{importer.no_buffer(), {}};
  result.children.push_back(indices(importer, level));
  result.children.push_back(importer.column(
    {level.types.children[0], values, {values.offset, values.length, 0}, level.path}));
  return result;
}

}  // namespace cudf_arrow_bridge::detail
