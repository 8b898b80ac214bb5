// SPDX-License-Identifier: Apache-2.0
/// @file
/// Values of Arrow arrays and of columns as strings of tagged items, for comparison.
#pragma once

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <cudf/column/column_view.hpp>

#include <string>

namespace cudf_arrow_bridge::fuzz {

/**
 * @brief Validates an array in full and reads it, both with nanoarrow.
 *
 * @param begin First row, counted without the array's own offset
 * @return Whether the array is valid and small enough to be read
 */
[[nodiscard]] bool read_arrow(ArrowSchema const& schema,
                              ArrowArray const& array,
                              std::int64_t begin,
                              std::int64_t size,
                              std::string& result);

/// Reads a column in host memory as libcudf would.
void read_column(cudf::column_view const& column, std::string& result);

}  // namespace cudf_arrow_bridge::fuzz
