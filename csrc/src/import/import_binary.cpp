// SPDX-License-Identifier: Apache-2.0
#include "import/layouts.hpp"
#include "import/offsets.hpp"
#include "validate/validate.hpp"

#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

column_parts bytes_in_lists(column_importer const& importer,
                            list_offsets&& offsets,
                            void const* bytes)
{
  auto const* first = static_cast<std::byte const*>(bytes) + offsets.begin;
  auto result       = column_parts{importer.no_buffer(), {}};
  result.children.push_back(std::move(offsets.column));
  result.children.push_back(
    importer.flat_column(cudf::type_id::UINT8, offsets.size, importer.take(first, offsets.size)));
  return result;
}

}  // namespace

column_parts import_binary(column_importer const& importer, import_level const& level)
{
  auto offsets      = import_list_offsets(importer, level);
  auto const* bytes = level.array.buffers[2];
  check_string_data(offsets.size, bytes, level.path);
  return bytes_in_lists(importer, std::move(offsets), bytes);
}

column_parts import_fixed_size_binary(column_importer const& importer, import_level const& level)
{
  return bytes_in_lists(
    importer, make_offsets(importer, level, level.type().element_bits / 8), level.array.buffers[1]);
}

}  // namespace cudf_arrow_bridge::detail
