// SPDX-License-Identifier: Apache-2.0
#include "layouts.hpp"
#include "offsets.hpp"

#include <limits>
#include <string>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

column_parts elements_in_lists(column_importer const& importer,
                               import_level const& level,
                               list_offsets&& offsets)
{
  auto const& element = *level.array.children[0];
  auto const path     = column_path{level.path, "[]"};
  auto result         = column_parts{importer.no_buffer(), {}};
  result.children.push_back(std::move(offsets.column));
  // Offsets count from the first element on, so none may be left before it.
  result.children.push_back(importer.column(
    {level.types.children[0], element, {element.offset + offsets.begin, offsets.size, 0}, path}));
  return result;
}

}  // namespace

column_parts import_lists(column_importer const& importer, import_level const& level)
{
  auto const elements = level.array.children[0]->length;
  auto const is_large = level.type().layout == array_layout::offsets64;
  // A device would have to be waited for, only to leave out elements behind the last list.
  auto const is_taken_whole = !importer.where().host && !is_large &&
                              level.rows.storage_size() > 0 &&
                              elements <= std::numeric_limits<cudf::size_type>::max();
  if (is_taken_whole) {
    return elements_in_lists(importer, level, {adopt_offsets(importer, level), 0, elements});
  }
  auto offsets = import_offsets(importer, level);
  if (offsets.begin + offsets.size > elements) {
    fail_invalid(level.path,
                 std::to_string(elements) + " list elements found, at least " +
                   std::to_string(offsets.begin + offsets.size) + " expected by the offsets");
  }
  return elements_in_lists(importer, level, std::move(offsets));
}

column_parts import_fixed_size_lists(column_importer const& importer, import_level const& level)
{
  return elements_in_lists(importer, level, make_offsets(importer, level, level.type().list_size));
}

}  // namespace cudf_arrow_bridge::detail
