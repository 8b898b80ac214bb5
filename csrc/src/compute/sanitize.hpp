// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compute/buffers.hpp"

#include <cudf/column/column.hpp>
#include <cudf/column/column_view.hpp>

#include <memory>
#include <optional>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Makes of a column what libcudf expects: see "sanitized null masks" in its developer guide.
 *
 * The rows below a null struct become null, which rewrites masks and nothing else; null lists and
 * strings become empty, which copies the rows of that list or string column. Either is done only
 * where some row needs it, so that clean columns come back as they are.
 *
 * Flat columns cost nothing, but strings with nulls have the lengths of these looked at. On device
 * memory this waits once for each child of a struct with nulls, to learn whether its mask changes,
 * and once for each string or list column with nulls, to learn whether all of these are empty.
 *
 * Lists of null columns stay as they are on device memory: libcudf cannot gather them.
 *
 * @param column All of an imported column's storage, rows before its first one included
 * @param exec Where it is, and where what is rewritten goes
 */
std::unique_ptr<cudf::column> sanitize(std::unique_ptr<cudf::column> column, execution const& exec);

/// Whether strings or lists have null rows that are not empty: `sanitize` would copy them.
bool needs_emptying(cudf::column_view const& column, execution const& exec);

/// A mask and how many rows it says are null.
struct counted_mask {
  rmm::device_buffer mask;
  cudf::size_type null_count;
};

/// The operations that touch data.
namespace host {
std::optional<counted_mask> push_nulls(cudf::column_view const& parent,
                                       cudf::column_view const& child,
                                       execution const& exec);
bool has_nonempty_nulls(cudf::column_view const& column);
std::unique_ptr<cudf::column> empty_nulls(cudf::column_view const& column, execution const& exec);
}  // namespace host

namespace device {
std::optional<counted_mask> push_nulls(cudf::column_view const& parent,
                                       cudf::column_view const& child,
                                       execution const& exec);
bool has_nonempty_nulls(cudf::column_view const& column, execution const& exec);
std::unique_ptr<cudf::column> empty_nulls(cudf::column_view const& column, execution const& exec);
}  // namespace device

}  // namespace cudf_arrow_bridge::detail
