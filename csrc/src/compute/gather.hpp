// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/errors.hpp"
#include "compute/buffers.hpp"

#include <cudf/column/column.hpp>
#include <cudf/column/column_view.hpp>

#include <memory>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Gathers rows of a column in the order of `map`, which may contain a row more than once.
 *
 * The result shares no memory with the source. Null lists and strings are empty.
 *
 * @throws std::overflow_error for more list elements than a column holds
 * @throws cudf::data_type_error on device memory if a descendant is a null column, which libcudf
 *   cannot gather
 *
 * @param map INT32 row numbers without nulls, all within the source. In host memory, -1
 * produces a null row.
 * @param exec Location of both columns. On device memory, gathering strings and lists waits for the
 *   size of the result.
 */
std::unique_ptr<cudf::column> gather_rows(cudf::column_view const& source,
                                          cudf::column_view const& map,
                                          column_path const& path,
                                          execution const& exec);

/// Creates a column of null rows with the types of another column at every level.
std::unique_ptr<cudf::column> null_rows_like(cudf::column_view const& column,
                                             cudf::size_type size,
                                             execution const& exec);

/// The implementations for device memory, with the same signatures.
namespace device {
decltype(detail::gather_rows) gather_rows;
}  // namespace device

}  // namespace cudf_arrow_bridge::detail
