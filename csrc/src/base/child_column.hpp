// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/errors.hpp"

#include <cudf/column/column_view.hpp>

#include <algorithm>
#include <string>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Returns a child of a column by reference.
 *
 * `column_view::child` copies the views of the child and of its descendants. It is `noexcept`, so
 * running out of memory there ends the process.
 */
inline cudf::column_view const& child_of(cudf::column_view const& column, cudf::size_type index)
{ return column.child_begin()[index]; }

/// @throws std::invalid_argument if the column has no child with that index
inline cudf::column_view const& child_of(cudf::column_view const& column,
                                         cudf::size_type index,
                                         column_path const& path)
{
  if (index >= column.num_children()) {
    fail_invalid(path,
                 "expected at least " + std::to_string(index + 1) + " children, got " +
                   std::to_string(column.num_children()));
  }
  return child_of(column, index);
}

/// @return Whether a column or any of its descendants has Arrow's null type
inline bool has_null_column(cudf::column_view const& column)
{
  return column.type().id() == cudf::type_id::EMPTY ||
         std::any_of(column.child_begin(), column.child_end(), has_null_column);
}

}  // namespace cudf_arrow_bridge::detail
