// SPDX-License-Identifier: Apache-2.0
#include "export/column_rows.hpp"

#include <algorithm>
#include <cstddef>

namespace cudf_arrow_bridge::detail {
namespace {

cudf::size_type to_size_type(std::int64_t size) { return static_cast<cudf::size_type>(size); }

/// Calls `has` for a column and, if it is a struct, its fields at all levels.
template <typename Predicate>
bool any_of_fields(cudf::column_view const& column, Predicate has)
{
  if (has(column)) { return true; }
  return column.type().id() == cudf::type_id::STRUCT &&
         std::any_of(column.child_begin(), column.child_end(), [&](auto const& field) {
           return any_of_fields(field, has);
         });
}

bool is_nullable(cudf::column_view const& column) { return column.nullable(); }

bool is_string_or_list(cudf::column_view const& column)
{
  auto const id = column.type().id();
  return id == cudf::type_id::STRING || id == cudf::type_id::LIST;
}

}  // namespace

std::int64_t rows_before(cudf::column_view const& column, column_rows const& rows)
{
  if (rows.begin == 0 || rows.size == 0 || rows.is_field) { return 0; }
  auto const to_word = (rows.begin - 1) % 32 + 1;
  if (any_of_fields(column, is_string_or_list)) { return to_word; }
  auto const leaves_mask = column.type().id() == cudf::type_id::STRUCT
                             ? any_of_fields(column, is_nullable)
                             : column.nullable() && rows.null_count != 0;
  return leaves_mask && !is_on_mask_block(rows.begin) ? to_word : 0;
}

column_rows field_rows(cudf::column_view const& field,
                       std::int64_t begin,
                       std::int64_t size,
                       column_rows const& rows,
                       outer_mask const* outer)
{
  auto const whole = begin == 0 && size == field.size() && field.offset() == 0;
  auto const known = field.null_count() == 0 || whole;
  return {
    begin, size, known ? field.null_count() : -1, rows.used_begin, rows.used_size, outer, true};
}

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

void null_counts::add(cudf::column_view const& column, column_rows const& rows, bool compact)
{
  if (rows.null_count < 0 && column.null_mask() != nullptr) {
    ranges_.push_back(mask_of(column, rows));
  }
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
