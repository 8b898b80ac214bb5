// SPDX-License-Identifier: Apache-2.0
/// @file
/// Columns read the way that libcudf's algorithms walk them, on the CPU.
///
/// Where a column obeys libcudf's invariants these give its rows. Where it does not they give what
/// the algorithms would: rows of others, too many or too few.
#pragma once

#include "testing/value.hpp"

#include <cudf/column/column_view.hpp>

#include <span>

namespace cudf_arrow_bridge::test {

/// What stands in the place of an element that is read from where there is none.
[[nodiscard]] value nothing_there();

/// The elements of lists as `lists_column_view::get_sliced_child` gives them.
[[nodiscard]] cudf::column_view sliced_child(cudf::column_view const& lists);

/// A field of structs as `structs_column_view::get_sliced_child` gives it.
[[nodiscard]] cudf::column_view sliced_field(cudf::column_view const& structs,
                                             cudf::size_type index);

/// The row that `cudf::explode` repeats beside each element of `sliced_child`.
[[nodiscard]] std::vector<cudf::size_type> explode_map(cudf::column_view const& lists);

/// All characters of the rows, from the first one that
/// `strings::detail::get_first_and_last_offset` gives to the last.
[[nodiscard]] std::string characters(cudf::column_view const& strings);

/**
 * @brief Rows put together again from what was taken apart: lists by `explode_map` out of
 * `sliced_child`, strings as parts of `characters`, structs by `sliced_field`.
 *
 * Elements that explode repeats no row for come as one row more at the end.
 *
 * @param column A column whose null lists are empty
 */
[[nodiscard]] rows read_taken_apart(cudf::column_view const& column, shape const& type);

/// Rows of what `cudf::concatenate` makes of columns of one type.
[[nodiscard]] rows read_concatenated(std::span<cudf::column_view const> columns, shape const& type);

}  // namespace cudf_arrow_bridge::test
