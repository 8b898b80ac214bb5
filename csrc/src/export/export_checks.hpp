// SPDX-License-Identifier: Apache-2.0
/// @file
/// Checks of a column's contents before it is exported as a requested type.
#pragma once

#include "base/errors.hpp"
#include "compute/buffers.hpp"
#include "export/column_rows.hpp"
#include "schema/schema_tree.hpp"

#include <cudf_arrow_bridge/export.hpp>

#include <cudf/column/column_view.hpp>

#include <rmm/device_buffer.hpp>

#include <cstdint>
#include <optional>

namespace cudf_arrow_bridge::detail {

/// The used rows of a column for checks; rows of null enclosing structs are null.
struct checked_rows {
  std::optional<rmm::device_buffer> mask;  ///< created for the view, if there are such structs
  cudf::column_view view;
};

/// Returns the used rows of a LIST or fixed-width column for checks of their values. Values below a
/// null struct are unspecified. Counts nulls, for which it waits on a device.
checked_rows rows_to_check(cudf::column_view const& column,
                           column_rows const& rows,
                           execution const& exec);

/// Checks that all values that are not null fit the requested type. Waits for the result on a
/// device.
///
/// @throws std::invalid_argument if a value does not fit
void check_values(cudf::column_view const& column,
                  export_step const& step,
                  column_path const& path,
                  execution const& exec);

/// Returns a child that has the offsets of at least `end` rows, counted from the head.
///
/// @throws std::invalid_argument if it has fewer, or is null
cudf::column_view const& checked_offsets(cudf::column_view const* offsets,
                                         std::int64_t end,
                                         column_path const& path);

/// Returns whether a used row is null in the column and in no enclosing struct.
bool has_own_nulls(cudf::column_view const& column, column_rows const& rows, execution const& exec);

/// Checks that an input is one column, or columns with the number of rows of their table.
///
/// @throws std::invalid_argument if it is not
void check_input(export_input const& input);

}  // namespace cudf_arrow_bridge::detail
