// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads columns on the CPU in the way that libcudf's algorithms traverse them.
///
/// For a column that satisfies libcudf's invariants these return its rows. For others they return
/// what the algorithms would: wrong rows, too many or too few.
#pragma once

#include "testing/value.hpp"

#include <cudf/column/column_view.hpp>

#include <span>

namespace cudf_arrow_bridge::test {

/// The value used for an element read out of bounds.
[[nodiscard]] value nothing_there();

/// The elements of lists as `lists_column_view::get_sliced_child` gives them.
[[nodiscard]] cudf::column_view sliced_child(cudf::column_view const& lists);

/// A field of structs as `structs_column_view::get_sliced_child` gives it.
[[nodiscard]] cudf::column_view sliced_field(cudf::column_view const& structs,
                                             cudf::size_type index);

/// The row that `cudf::explode` repeats beside each element of `sliced_child`.
[[nodiscard]] std::vector<cudf::size_type> explode_map(cudf::column_view const& lists);

/// All characters of the rows, between the two offsets that
/// `strings::detail::get_first_and_last_offset` returns.
[[nodiscard]] std::string characters(cudf::column_view const& strings);

/**
 * @brief Reassembles rows from their parts: lists by `explode_map` from `sliced_child`, strings
 * from `characters`, structs from `sliced_field`.
 *
 * Elements that `explode_map` assigns to no row are returned as an additional last row.
 *
 * @param column A column whose null lists are empty
 */
[[nodiscard]] rows read_taken_apart(cudf::column_view const& column, shape const& type);

/// Rows of the result of `cudf::concatenate` for columns of one type.
[[nodiscard]] rows read_concatenated(std::span<cudf::column_view const> columns, shape const& type);

}  // namespace cudf_arrow_bridge::test
