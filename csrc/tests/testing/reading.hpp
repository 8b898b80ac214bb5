// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads columns on the CPU in the way that libcudf's algorithms traverse them.
///
/// For a column that satisfies libcudf's invariants these return its rows. For others they return
/// what the algorithms would: wrong rows, too many or too few.
#pragma once

#include "testing/value.hpp"

#include <cudf/column/column_view.hpp>

#include <string>
#include <vector>

namespace cudf_arrow_bridge::test {

/**
 * @brief Reassembles rows from their parts: lists by `explode_map` from `sliced_child`, strings
 * from `characters`, structs from `sliced_field`.
 *
 * Elements that `explode_map` assigns to no row are returned as an additional last row.
 *
 * @param column A column whose null lists are empty
 */
[[nodiscard]] rows read_taken_apart(cudf::column_view const& column, shape const& type);

}  // namespace cudf_arrow_bridge::test
