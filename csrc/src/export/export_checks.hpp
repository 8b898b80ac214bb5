// SPDX-License-Identifier: Apache-2.0
/// @file
/// Checks of a column's contents before it is exported as a requested type.
#pragma once

#include "base/errors.hpp"
#include "compute/buffers.hpp"
#include "export/column_rows.hpp"
#include "schema/schema_tree.hpp"

#include <cudf/column/column_view.hpp>

#include <rmm/device_buffer.hpp>

#include <optional>

namespace cudf_arrow_bridge::detail {

/// The used rows of a column as checks are to see them: null as well where a struct around is.
struct checked_rows {
  std::optional<rmm::device_buffer> mask;  ///< made for the view, if there are such structs
  cudf::column_view view;
};

/**
 * @brief The used rows of a LIST or fixed-width column, for checks of their values: those below a
 * null struct are unspecified.
 *
 * Counts nulls, for which it waits on a device.
 *
 * @param column Column to check
 * @param rows Its rows
 * @param exec Where the masks are
 */
checked_rows rows_to_check(cudf::column_view const& column,
                           column_rows const& rows,
                           execution const& exec);

/**
 * @brief Checks that all values that are not null fit the requested type.
 *
 * Reads the values, and on a device waits for the result.
 *
 * @throws std::invalid_argument if a value does not fit
 *
 * @param column Column to check
 * @param step Says what to check
 * @param path Names the column in errors
 * @param exec Where the column is
 */
void check_values(cudf::column_view const& column,
                  export_step const& step,
                  column_path const& path,
                  execution const& exec);

/**
 * @brief Whether a used row is null that is not null in a struct around the column.
 *
 * @param column Column to check
 * @param rows Its rows
 * @param exec Where the masks are
 */
bool has_own_nulls(cudf::column_view const& column, column_rows const& rows, execution const& exec);

/**
 * @brief Says that nulls were found where none may be.
 *
 * @throws std::invalid_argument always
 *
 * @param rule Who forbids them
 * @param path Names the column
 */
[[noreturn]] void fail_of_nulls(null_rule rule, column_path const& path);

}  // namespace cudf_arrow_bridge::detail
