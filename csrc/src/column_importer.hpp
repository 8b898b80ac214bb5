// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "convert.hpp"
#include "errors.hpp"
#include "foreign_array.hpp"
#include "parsed_type.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/import.hpp>

#include <cstdint>

namespace cudf_arrow_bridge::detail {

/// @return Whether an array has a mask that may mark nulls
bool has_mask(ArrowArray const& array);

/**
 * @brief Makes an owning column of some rows of an array that has been validated.
 *
 * @param types What `validate` found
 * @param array Array that `share` keeps alive
 * @param begin First row, counted without the array's own offset
 * @param size Rows
 * @param share Share of the producer's struct; each adopted buffer takes one of its own
 * @param where Where the array's buffers are, and where converted ones go
 * @param path Names the column in errors
 */
imported_column import_rows(parsed_tree const& types,
                            ArrowArray const& array,
                            std::int64_t begin,
                            std::int64_t size,
                            foreign_share const& share,
                            placement const& where,
                            column_path const& path);

}  // namespace cudf_arrow_bridge::detail
