// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/errors.hpp"
#include "compute/buffers.hpp"

#include <cudf/column/column.hpp>
#include <cudf/column/column_view.hpp>

#include <memory>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Some rows of a column, in the order asked for; a row may come more than once.
 *
 * The result shares nothing with the source. Null lists and strings come out empty.
 *
 * @throws std::overflow_error for more list elements than a column holds
 * @throws cudf::data_type_error on device memory if a null column stands below the top, which
 *   libcudf cannot gather
 *
 * @param source Column of any type
 * @param map INT32 row numbers without nulls, all of them within the source
 * @param path Names the column in errors
 * @param exec Where both columns are. On device memory strings and lists wait for their sizes.
 */
std::unique_ptr<cudf::column> gather_rows(cudf::column_view const& source,
                                          cudf::column_view const& map,
                                          column_path const& path,
                                          execution const& exec);

namespace host {
/// Negative numbers stand for null rows.
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
