// SPDX-License-Identifier: Apache-2.0
#include "export/column_rows.hpp"

#include <algorithm>

namespace cudf_arrow_bridge::detail {
namespace {

cudf::size_type to_size_type(std::int64_t size) { return static_cast<cudf::size_type>(size); }

}  // namespace

column_rows used_rows(column_rows const& rows)
{
  auto const all = rows.used_begin == rows.begin && rows.used_size == rows.size;
  return {rows.used_begin,
          rows.used_size,
          all || rows.null_count == 0 ? rows.null_count : -1,
          rows.used_begin,
          rows.used_size,
          rows.outer};
}

cudf::column_view view_of(cudf::column_view const& column,
                          column_rows const& rows,
                          execution const& exec)
{
  auto const unknown = rows.null_count < 0 && column.null_mask() != nullptr;
  auto const null_count =
    unknown ? count_nulls(mask_of(column, rows), exec)
            : static_cast<cudf::size_type>(std::max<std::int64_t>(rows.null_count, 0));
  return {column.type(),
          to_size_type(rows.size),
          column.head<void>(),
          column.null_mask(),
          null_count,
          to_size_type(rows.begin),
          {column.child_begin(), column.child_end()}};
}

}  // namespace cudf_arrow_bridge::detail
