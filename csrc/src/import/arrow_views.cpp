// SPDX-License-Identifier: Apache-2.0
#include "compute/gather.hpp"
#include "import/column_importer.hpp"

#include <utility>

namespace cudf_arrow_bridge::detail {

column_parts column_importer::import_views(import_level const& level, row_mask const& mask) const
{
  auto const is_text = level.type().column.id() == cudf::type_id::STRING;
  auto result        = column_parts{no_buffer(), {}};
  if (level.rows.storage_size() == 0) {
    if (!is_text) {
      result.children.push_back(no_offsets().column);
      result.children.push_back(flat_column(cudf::type_id::UINT8, 0, no_buffer()));
    }
    return result;
  }
  auto const& array     = level.array;
  auto const num_data   = static_cast<std::size_t>(array.n_buffers - 3);
  auto const* last      = array.buffers[array.n_buffers - 1];
  auto const view_array = view_rows{array.buffers[1],
                                    level.rows.storage_begin(),
                                    level.rows.num_rows(),
                                    mask,
                                    {array.buffers + 2, num_data},
                                    last};
  copies_.need(copy_reason::views, level.path);
  auto strings = strings_from_views(view_array, level.path, exec_);
  note(strings.data, copy_reason::views);
  note(strings.offsets, copy_reason::views);
  auto const size     = static_cast<std::int64_t>(strings.data.size());
  auto const is_small = strings.offsets->type().id() == cudf::type_id::INT32;
  result.children.push_back(std::move(strings.offsets));
  if (is_text) {
    result.data = std::move(strings.data);
    return result;
  }
  if (!is_small) { fail_too_many(level.path, size, max_offset, "bytes"); }
  result.children.push_back(flat_column(cudf::type_id::UINT8, size, std::move(strings.data)));
  return result;
}

column_parts column_importer::import_list_views(import_level const& level,
                                                row_mask const& mask) const
{
  auto const& array   = level.array;
  auto const& element = *array.children[0];
  if (level.rows.storage_size() == 0) {
    return elements_in_lists(level, no_offsets().column, {element.offset, 0, 0});
  }
  copies_.need(copy_reason::list_views, level.path);
  auto lists = lists_from_views({array.buffers[1],
                                 array.buffers[2],
                                 offset_width(level.type().layout),
                                 level.rows.storage_begin(),
                                 level.rows.num_rows(),
                                 mask,
                                 element.length},
                                level.path,
                                exec_);
  note(lists.offsets, copy_reason::list_views);
  auto const gathers = lists.elements != nullptr;
  auto const exec    = gathers ? exec_.scratch() : exec_;
  auto const path    = column_path{level.path, "[]"};
  auto const rows    = row_range{element.offset + lists.first, lists.num_elements, 0};
  auto elements      = with(exec).column({level.types.children[0], element, rows, path});
  if (gathers) {
    elements = gather_rows(elements->view(), lists.elements->view(), path, exec_);
    note(elements, copy_reason::list_views);
  }
  auto result = column_parts{no_buffer(), {}};
  result.children.push_back(std::move(lists.offsets));
  result.children.push_back(std::move(elements));
  return result;
}

}  // namespace cudf_arrow_bridge::detail
