// SPDX-License-Identifier: Apache-2.0
#include "export/null_counts.hpp"

#include <cstddef>
#include <span>

namespace cudf_arrow_bridge::detail {

void null_counts::add(cudf::column_view const& column, column_rows const& rows, bool compact)
{
  if (rows.null_count < 0 && column.null_mask() != nullptr) { add(mask_of(column, rows)); }
  if (column.type().id() != cudf::type_id::STRUCT) { return; }
  auto const before = compact ? 0 : rows_before(column, rows);
  for (auto const& field : std::span{column.child_begin(), column.child_end()}) {
    add(field, field_rows(field, rows.begin - before, rows.size + before, rows, nullptr), compact);
  }
}

void null_counts::count(execution const& exec)
{
  if (ranges_.empty()) { return; }
  auto const counts = count_nulls(ranges_, exec);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts_.emplace(key_of(ranges_[i]), counts[i]);
  }
}

std::int64_t null_counts::find(bit_range const& range) const
{
  auto const found = counts_.find(key_of(range));
  return found == counts_.end() ? -1 : found->second;
}

}  // namespace cudf_arrow_bridge::detail
