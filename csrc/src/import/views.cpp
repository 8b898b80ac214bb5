// SPDX-License-Identifier: Apache-2.0
#include "compute/gather.hpp"
#include "import/layouts.hpp"

#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

string_buffers read_views(column_importer const& importer,
                          import_level const& level,
                          row_mask const& mask)
{
  auto const& array     = level.array;
  auto const num_data   = static_cast<std::size_t>(array.n_buffers - 3);
  auto const* last      = array.buffers[array.n_buffers - 1];
  auto const view_array = view_rows{array.buffers[1],
                                    level.rows.storage_begin(),
                                    level.rows.num_rows(),
                                    mask,
                                    {array.buffers + 2, num_data},
                                    last};
  importer.need_copy(copy_reason::views, level.path);
  auto result = strings_from_views(view_array, level.path, importer.exec());
  importer.note(result.data, copy_reason::views);
  importer.note(result.offsets, copy_reason::views);
  return result;
}

}  // namespace

column_parts import_string_views(column_importer const& importer,
                                 import_level const& level,
                                 row_mask const& mask)
{
  auto result = column_parts{importer.no_buffer(), {}};
  if (level.rows.storage_size() == 0) { return result; }
  auto strings = read_views(importer, level, mask);
  result.data  = std::move(strings.data);
  result.children.push_back(std::move(strings.offsets));
  return result;
}

column_parts import_binary_views(column_importer const& importer,
                                 import_level const& level,
                                 row_mask const& mask)
{
  auto result = column_parts{importer.no_buffer(), {}};
  if (level.rows.storage_size() == 0) {
    result.children.push_back(importer.flat_column(cudf::type_id::INT32, 0, importer.no_buffer()));
    result.children.push_back(importer.flat_column(cudf::type_id::UINT8, 0, importer.no_buffer()));
    return result;
  }
  auto strings    = read_views(importer, level, mask);
  auto const size = static_cast<std::int64_t>(strings.data.size());
  if (strings.offsets->type().id() != cudf::type_id::INT32) {
    fail<std::overflow_error>(
      level.path,
      "expected a size that the 32-bit offsets of libcudf's lists can count, got " +
        std::to_string(size) + " bytes: import it as a stream of smaller arrays");
  }
  result.children.push_back(std::move(strings.offsets));
  result.children.push_back(
    importer.flat_column(cudf::type_id::UINT8, size, std::move(strings.data)));
  return result;
}

column_parts import_list_views(column_importer const& importer,
                               import_level const& level,
                               row_mask const& mask)
{
  auto const& array   = level.array;
  auto const& element = *array.children[0];
  auto const path     = column_path{level.path, "[]"};
  auto const column   = [&](column_importer const& by, std::int64_t first, std::int64_t size) {
    return by.column({level.types.children[0], element, {element.offset + first, size, 0}, path});
  };
  auto result = column_parts{importer.no_buffer(), {}};
  if (level.rows.storage_size() == 0) {
    result.children.push_back(importer.flat_column(cudf::type_id::INT32, 0, importer.no_buffer()));
    result.children.push_back(column(importer, 0, 0));
    return result;
  }
  importer.need_copy(copy_reason::list_views, level.path);
  auto lists = lists_from_views({array.buffers[1],
                                 array.buffers[2],
                                 offset_width(level.type().layout),
                                 level.rows.storage_begin(),
                                 level.rows.num_rows(),
                                 mask,
                                 element.length},
                                level.path,
                                importer.exec());
  importer.note(lists.offsets, copy_reason::list_views);
  auto const gathers = lists.elements != nullptr;
  auto const exec    = gathers ? importer.exec().scratch() : importer.exec();
  auto elements      = column(importer.with(exec), lists.first, lists.num_elements);
  if (gathers) {
    elements = gather_rows(elements->view(), lists.elements->view(), path, importer.exec());
    importer.note(elements, copy_reason::list_views);
  }
  result.children.push_back(std::move(lists.offsets));
  result.children.push_back(std::move(elements));
  return result;
}

}  // namespace cudf_arrow_bridge::detail
