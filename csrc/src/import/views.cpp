// SPDX-License-Identifier: Apache-2.0
#include "compute/gather.hpp"
#include "import/column_importer.hpp"

#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace cudf_arrow_bridge::detail {

string_buffers column_importer::read_views(import_level const& level, row_mask const& mask) const
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
  copies_.need(copy_reason::views, level.path);
  auto result = strings_from_views(view_array, level.path, exec_);
  note(result.data, copy_reason::views);
  note(result.offsets, copy_reason::views);
  return result;
}

column_parts column_importer::import_string_views(import_level const& level,
                                                  row_mask const& mask) const
{
  auto result = column_parts{no_buffer(), {}};
  if (level.rows.storage_size() == 0) { return result; }
  auto strings = read_views(level, mask);
  result.data  = std::move(strings.data);
  result.children.push_back(std::move(strings.offsets));
  return result;
}

column_parts column_importer::import_binary_views(import_level const& level,
                                                  row_mask const& mask) const
{
  auto result = column_parts{no_buffer(), {}};
  if (level.rows.storage_size() == 0) {
    result.children.push_back(flat_column(cudf::type_id::INT32, 0, no_buffer()));
    result.children.push_back(flat_column(cudf::type_id::UINT8, 0, no_buffer()));
    return result;
  }
  auto strings    = read_views(level, mask);
  auto const size = static_cast<std::int64_t>(strings.data.size());
  if (strings.offsets->type().id() != cudf::type_id::INT32) {
    fail<std::overflow_error>(
      level.path,
      "expected a size that the 32-bit offsets of libcudf's lists can count, got " +
        std::to_string(size) + " bytes: import it as a stream of smaller arrays");
  }
  result.children.push_back(std::move(strings.offsets));
  result.children.push_back(flat_column(cudf::type_id::UINT8, size, std::move(strings.data)));
  return result;
}

column_parts column_importer::import_list_views(import_level const& level,
                                                row_mask const& mask) const
{
  auto const& array          = level.array;
  auto const& element        = *array.children[0];
  auto const path            = column_path{level.path, "[]"};
  auto const import_elements = [&](
                                 column_importer const& by, std::int64_t first, std::int64_t size) {
    return by.column({level.types.children[0], element, {element.offset + first, size, 0}, path});
  };
  auto result = column_parts{no_buffer(), {}};
  if (level.rows.storage_size() == 0) {
    result.children.push_back(flat_column(cudf::type_id::INT32, 0, no_buffer()));
    result.children.push_back(import_elements(*this, 0, 0));
    return result;
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
  auto elements      = import_elements(with(exec), lists.first, lists.num_elements);
  if (gathers) {
    elements = gather_rows(elements->view(), lists.elements->view(), path, exec_);
    note(elements, copy_reason::list_views);
  }
  result.children.push_back(std::move(lists.offsets));
  result.children.push_back(std::move(elements));
  return result;
}

}  // namespace cudf_arrow_bridge::detail
