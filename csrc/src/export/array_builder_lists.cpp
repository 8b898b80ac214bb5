// SPDX-License-Identifier: Apache-2.0
#include "base/child_column.hpp"
#include "compute/cast.hpp"
#include "compute/gather.hpp"
#include "export/array_builder.hpp"
#include "export/export_checks.hpp"

#include <cudf/lists/lists_column_view.hpp>

#include <utility>

namespace cudf_arrow_bridge::detail {

/// Lists share their elements if every list, including null lists, has its own elements. If null
/// lists are empty, as in libcudf, the elements are gathered, with arbitrary elements for null
/// lists.
void array_builder::fill_fixed_lists(array_node& node, export_level const& level)
{
  auto const& [column, rows, step, target, path] = level;

  auto const& offsets = child_of(column, cudf::lists_column_view::offsets_column_index, path);
  auto const& element = child_of(column, cudf::lists_column_view::child_column_index, path);
  auto const size     = step.list_size;
  auto const count    = rows.size * size;
  node.per_row        = size;
  node.num_children   = 1;
  node.first_child    = tree_.add_nodes(1);
  if (count > max_offset) {
    fail_too_many(path, count, max_offset, "list elements", "export fewer rows at a time");
  }
  auto used = used_rows(rows);
  // A non-nullable field may be null in rows in which its parent struct is null. `rows.null_count`
  // is 0 regardless.
  if (step.forbids_nulls()) { used.null_count = -1; }
  // The elements of unused rows do not matter.
  auto const begin = (used.begin - rows.begin) * size;
  auto elements    = column_rows{0, count, -1, begin, used.size * size};
  auto ends        = offset_ends{0, 0};
  auto in_place    = false;
  if (used.size > 0) {
    checked_offsets(&offsets, rows.begin + rows.size, path);
    auto const lists = check_list_sizes(
      column, used, step, static_cast<cudf::size_type>(size), "elements", path, exec_);
    ends     = lists.ends;
    in_place = lists.in_place;
  }
  auto const first = ends.first - begin;
  if (count == 0 || (in_place && first >= 0 && first + count <= element.size())) {
    elements.begin = element.offset() + (count == 0 ? 0 : first);
    elements.used_begin += elements.begin;
    auto const known    = element.null_count() == 0 || count == element.size();
    elements.null_count = known ? element.null_count() : -1;
    fill(node.first_child, element, elements, level_below(target, 0), column_path{path, "[]"});
    return;
  }
  copies_.need(copy_reason::lengths, path);
  auto made = std::unique_ptr<cudf::column>{};
  if (ends.first == ends.last) {
    made               = null_rows_like(element, static_cast<cudf::size_type>(count), exec_);
    elements.used_size = 0;
  } else {
    auto const map      = rows_of_lists({offsets.begin<std::int32_t>() + rows.begin,
                                         static_cast<cudf::size_type>(rows.size),
                                         static_cast<cudf::size_type>(size),
                                         static_cast<cudf::size_type>(ends.first),
                                         static_cast<cudf::size_type>(ends.last - 1)},
                                        exec_.scratch());
    auto const map_rows = cudf::column_view{cudf::data_type{cudf::type_id::INT32},
                                            static_cast<cudf::size_type>(count),
                                            map.data(),
                                            nullptr,
                                            0};
    made                = gather_rows(element, map_rows, path, exec_);
  }
  elements.null_count = made->null_count();
  auto const outer    = std::exchange(in_copy_, copy_reason::lengths);
  auto const& kept    = *tree_.columns.emplace_back(std::move(made));
  fill(node.first_child, kept.view(), elements, level_below(target, 0), column_path{path, "[]"});
  in_copy_ = outer;
}

}  // namespace cudf_arrow_bridge::detail
