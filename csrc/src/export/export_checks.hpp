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

#include <cstdint>
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
 * @brief Checks that a child has the offsets of `end` rows, and returns it.
 *
 * @throws std::invalid_argument if it has fewer
 *
 * @param offsets The offsets; null: there is no such child
 * @param end Rows, counted from the head
 * @param path Names the column in errors
 */
cudf::column_view const& checked_offsets(cudf::column_view const* offsets,
                                         std::int64_t end,
                                         column_path const& path);

/// The used rows of a LIST column, each of which is null or has the same number of elements.
struct sized_lists {
  checked_rows rows;
  offset_ends ends;  ///< of their elements
  bool in_place;     ///< whether null rows have as many elements, too
};

/**
 * @brief Checks that all lists have a size, unless they are null or below a null struct.
 *
 * Reads the first and last offset. Where they alone tell nothing, or the lists have not been
 * imported as of that size, reads all of them. Waits for both on a device.
 *
 * @throws std::invalid_argument for lists of another size
 *
 * @param column LIST column
 * @param used Its used rows, of which there are some
 * @param step Whether the lists have been imported as of that size
 * @param size The size, in `unit`
 * @param unit "bytes" or "elements"
 * @param path Names the column in errors
 * @param exec Where the column is
 */
sized_lists check_list_sizes(cudf::column_view const& column,
                             column_rows const& used,
                             export_step const& step,
                             cudf::size_type size,
                             char const* unit,
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
