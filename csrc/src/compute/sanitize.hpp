// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/copy_log.hpp"
#include "compute/buffers.hpp"

#include <cudf/column/column.hpp>
#include <cudf/column/column_view.hpp>

#include <memory>
#include <optional>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Rewrites null rows as libcudf expects them ("sanitized null masks" in its developer
 *   guide).
 *
 * Children of null structs become null, which only rewrites masks. Null lists and strings become
 * empty, which copies the list or string column. Only columns with such rows are rewritten; others
 * are returned unchanged.
 *
 * Fixed-width columns cost nothing; for strings the lengths of null rows are checked. On device
 * memory this waits once for each child of a struct with nulls, to read whether its mask changes,
 * and once for each string or list column with nulls, to read whether all null rows are empty.
 *
 * Lists of null columns are left as they are on device memory: libcudf cannot gather them.
 *
 * @throws copy_refused if a row needs it and copies are forbidden
 *
 * @param column The whole storage of an imported column, also rows before the first imported one
 * @param copies Whether copies are forbidden; created buffers are not recorded
 */
std::unique_ptr<cudf::column> sanitize(std::unique_ptr<cudf::column> column,
                                       copy_log const& copies,
                                       column_path const& path,
                                       execution const& exec);

/// Whether a string or list column has null rows that are not empty, so that `sanitize` copies it.
bool needs_emptying(cudf::column_view const& column, execution const& exec);

/// A copy of a string or list column in which null rows are empty.
std::unique_ptr<cudf::column> empty_nulls(cudf::column_view const& column, execution const& exec);

/// A mask and its number of null rows.
struct counted_mask {
  rmm::device_buffer mask;
  cudf::size_type null_count;
};

/// The mask of a struct's child with the nulls of the struct added; none if nothing changes.
std::optional<counted_mask> push_nulls(cudf::column_view const& parent,
                                       cudf::column_view const& child,
                                       execution const& exec);

/// The implementations for device memory, with the same signatures.
namespace device {
decltype(detail::push_nulls) push_nulls;
decltype(detail::empty_nulls) empty_nulls;
bool has_nonempty_nulls(cudf::column_view const& column, execution const& exec);
}  // namespace device

}  // namespace cudf_arrow_bridge::detail
