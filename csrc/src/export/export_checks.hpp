// SPDX-License-Identifier: Apache-2.0
/// @file
/// Checks of a column's contents before it is exported as a requested type.
#pragma once

#include "base/errors.hpp"
#include "compute/buffers.hpp"
#include "schema/schema_tree.hpp"

#include <cudf/column/column_view.hpp>

#include <optional>

namespace cudf_arrow_bridge::detail {

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
 * @brief Checks that no row is null, except where the parent struct is null too.
 *
 * @throws std::invalid_argument if a row is null
 *
 * @param rows Mask of the rows
 * @param null_count Null count of the rows; -1: unknown
 * @param parent_mask Mask of the parent struct's same rows; none if there is no struct, or no null
 * @param path Names the column in errors
 * @param exec Where the masks are
 */
void check_no_nulls(bit_range const& rows,
                    std::int64_t null_count,
                    std::optional<bit_range> const& parent_mask,
                    column_path const& path,
                    execution const& exec);

}  // namespace cudf_arrow_bridge::detail
