// SPDX-License-Identifier: Apache-2.0
/// @file
/// Values of Arrow arrays and of columns, for comparison.
#pragma once

#include "testing/value.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <cudf/column/column_view.hpp>

#include <cstdint>

namespace cudf_arrow_bridge::fuzz {

/// Decodes IEEE 754 binary16. nanoarrow 0.9 decodes subnormals wrongly.
[[nodiscard]] float to_float(std::uint16_t half);

/**
 * @brief Validates an array in full and reads it, both with nanoarrow.
 *
 * @param begin First row, counted without the array's own offset
 * @return Whether the array is valid, small enough to be read, and has no half-precision NaN, whose
 *   payload a conversion may change
 */
[[nodiscard]] bool read_arrow(ArrowSchema const& schema,
                              ArrowArray const& array,
                              std::int64_t begin,
                              std::int64_t size,
                              test::rows& result);

/// Reads a column in host memory as libcudf would.
void read_column(cudf::column_view const& column, test::rows& result);

}  // namespace cudf_arrow_bridge::fuzz
