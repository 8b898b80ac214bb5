// SPDX-License-Identifier: Apache-2.0
/// @file
/// What an export must find out of a column before it leaves as it is, or as somebody asked for.
#pragma once

#include "base/errors.hpp"
#include "compute/buffers.hpp"
#include "schema/schema_tree.hpp"

#include <cudf/column/column_view.hpp>

#include <optional>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Checks the values that are not null.
 *
 * @throws std::invalid_argument if a value does not fit
 */
void check_values(cudf::column_view const& column,
                  export_step const& step,
                  column_path const& path,
                  execution const& exec);

/**
 * @brief Checks that no row is null, but for rows that are null in the struct around them.
 *
 * @throws std::invalid_argument if one is
 *
 * @param rows The column's mask
 * @param null_count Nulls among them; -1: nobody knows
 * @param parent_mask The struct's, of the same rows; none without a struct, or without nulls in it
 * @param path Names the column in errors
 * @param exec Where the masks are
 */
void check_no_nulls(bit_range const& rows,
                    std::int64_t null_count,
                    std::optional<bit_range> const& parent_mask,
                    column_path const& path,
                    execution const& exec);

}  // namespace cudf_arrow_bridge::detail
