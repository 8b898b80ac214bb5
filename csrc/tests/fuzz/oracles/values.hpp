// SPDX-License-Identifier: Apache-2.0
/// @file
/// Values of both sides in one form that can be compared: a string of tagged items.
#pragma once

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <cudf/column/column_view.hpp>

#include <string>

namespace cudf_arrow_bridge::fuzz {

/**
 * @brief Reads an array as nanoarrow does, once it has been validated in full.
 *
 * @param begin First row, counted without the array's own offset
 * @return Whether the array's contents make sense and are few enough
 */
[[nodiscard]] bool read_arrow(ArrowSchema const& schema,
                              ArrowArray const& array,
                              std::int64_t begin,
                              std::int64_t size,
                              std::string& result);

/// Reads a column in host memory as libcudf would.
void read_column(cudf::column_view const& column, std::string& result);

}  // namespace cudf_arrow_bridge::fuzz
