// SPDX-License-Identifier: Apache-2.0
#include "import/layouts.hpp"
#include "import/offsets.hpp"

#include <memory>
#include <string>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

column_parts elements_in_lists(column_importer const& importer,
                               import_level const& level,
                               std::unique_ptr<cudf::column> offsets,
                               row_range const& elements)
{
  auto const path = column_path{level.path, "[]"};
  auto result     = column_parts{importer.no_buffer(), {}};
  result.children.push_back(std::move(offsets));
  result.children.push_back(
    importer.column({level.types.children[0], *level.array.children[0], elements, path}));
  return result;
}

}  // namespace

column_parts import_lists(column_importer const& importer, import_level const& level)
{
  auto offsets        = import_list_offsets(importer, level);
  auto const& element = *level.array.children[0];
  if (offsets.begin + offsets.size > element.length) {
    fail_invalid(level.path,
                 std::to_string(element.length) + " list elements found, at least " +
                   std::to_string(offsets.begin + offsets.size) + " expected by the offsets");
  }
  return elements_in_lists(
    importer, level, std::move(offsets.column), {element.offset + offsets.begin, offsets.size, 0});
}

column_parts import_fixed_size_lists(column_importer const& importer, import_level const& level)
{
  auto const& type = level.type();
  return elements_in_lists(importer,
                           level,
                           make_offsets(importer, level, type.list_size).column,
                           child_rows(type, *level.array.children[0], level.rows));
}

}  // namespace cudf_arrow_bridge::detail
