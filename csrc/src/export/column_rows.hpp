// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compute/buffers.hpp"

#include <cudf/column/column_view.hpp>

#include <cstdint>

namespace cudf_arrow_bridge::detail {

/// Null mask of a struct with nulls, and those of the structs around it. A row that is null in any
/// of them has no value in the fields below, whatever their own masks say.
struct outer_mask {
  bit_range mask;           ///< a bit for each used row
  outer_mask const* outer;  ///< null: no struct around has nulls
};

/// Range of rows of a column, counted from the head of its buffers: `column.offset()` is included.
struct column_rows {
  std::int64_t begin;
  std::int64_t size;
  std::int64_t null_count;  ///< -1: unknown
  std::int64_t used_begin;  ///< first of the rows that the parent array refers to; they alone are
                            ///< checked, as values of the others are unspecified
  std::int64_t used_size;   ///< number of these
  outer_mask const* outer{nullptr};  ///< of the struct around; null: no struct around has nulls
};

/// All rows of a column.
inline column_rows own_rows(cudf::column_view const& column)
{
  auto const begin = std::int64_t{column.offset()};
  auto const size  = std::int64_t{column.size()};
  return {begin, size, column.null_count(), begin, size};
}

/// The used rows alone, all of them used.
column_rows used_rows(column_rows const& rows);

inline bit_range mask_of(cudf::column_view const& column, column_rows const& rows)
{ return {column.null_mask(), rows.begin, rows.size}; }

/// A view of the rows alone. Counts their nulls if unknown, as libcudf's algorithms need the count.
cudf::column_view view_of(cudf::column_view const& column,
                          column_rows const& rows,
                          execution const& exec);

}  // namespace cudf_arrow_bridge::detail
