// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/copy_log.hpp"
#include "compute/buffers.hpp"

#include <cudf/column/column.hpp>
#include <cudf/column/column_view.hpp>

#include <memory>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Empties null lists and strings, as libcudf expects them ("sanitized null masks" in its
 *   developer guide).
 *
 * Copies list and string columns with null rows that are not empty; returns others unchanged.
 *
 * Fixed-width columns cost nothing; for strings the lengths of null rows are checked. On device
 * memory this waits once for each string or list column with nulls, to read whether all null rows
 * are empty.
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

/// The implementations for device memory, with the same signatures.
namespace device {
decltype(detail::empty_nulls) empty_nulls;
bool has_nonempty_nulls(cudf::column_view const& column, execution const& exec);
}  // namespace device

}  // namespace cudf_arrow_bridge::detail
