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
 * @param source Column of any type
 * @param map INT32 row numbers without nulls, all within the source
 * @param path Column that errors name
 * @param exec Location of both columns. On device memory, gathering strings and lists waits for the
 *   size of the result.
 */
std::unique_ptr<cudf::column> gather_rows(cudf::column_view const& source,
                                          cudf::column_view const& map,
                                          column_path const& path,
                                          execution const& exec);

namespace host {
/// Negative numbers in `map` produce null rows.
std::unique_ptr<cudf::column> gather_rows(cudf::column_view const& source,
                                          cudf::column_view const& map,
                                          column_path const& path,
                                          execution const& exec);
}  // namespace host

namespace device {
std::unique_ptr<cudf::column> gather_rows(cudf::column_view const& source,
                                          cudf::column_view const& map,
                                          column_path const& path,
                                          execution const& exec);
}  // namespace device

}  // namespace cudf_arrow_bridge::detail
