// SPDX-License-Identifier: Apache-2.0
/// @file
/// The layouts whose rows point elsewhere, turned into ones whose rows stand in order: views of
/// strings and lists, and runs. As in buffers.hpp each works on the CPU for host memory and through
/// libcudf's public algorithms for device memory.
///
/// In host memory whatever a row points to is checked against the sizes that are known before it is
/// followed. In device memory it is not: the producer is trusted, as it is with list offsets.
#pragma once

#include "base/errors.hpp"
#include "compute/buffers.hpp"

#include <cudf/column/column.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cudf_arrow_bridge::detail {

/// A column's mask: bit 0, aligned as libcudf wants it, is the first row's.
struct row_mask {
  void const* bits;  ///< null: no row is null
  cudf::size_type null_count;
};

/// Rows of a string_view or binary_view array.
struct view_rows {
  void const* views;  ///< of 16 bytes each
  std::int64_t begin;
  cudf::size_type size;
  row_mask mask;
  std::span<void const* const> data;  ///< the buffers that long views point into
  void const* data_sizes;             ///< their sizes, each of 8 bytes; not read on device memory
};

struct string_buffers {
  rmm::device_buffer data;
  std::unique_ptr<cudf::column> offsets;  ///< INT32, or INT64 where the data takes 2 GiB or more
};

/**
 * @brief Copies strings to one buffer, in the order of their rows. Null rows take no bytes.
 *
 * On device memory this waits for the size of that buffer.
 *
 * @throws std::invalid_argument on host memory for a view that does not lie in its buffer
 */
string_buffers strings_from_views(view_rows const& rows,
                                  column_path const& path,
                                  execution const& exec);

/// Rows of a list_view or large_list_view array.
struct list_view_rows {
  void const* offsets;
  void const* sizes;
  std::int64_t width;  ///< bytes of each offset and each size
  std::int64_t begin;
  cudf::size_type size;
  row_mask mask;
  std::int64_t num_elements;  ///< in the child array
};

/// The lists of some rows, one after the other.
struct gathered_lists {
  std::unique_ptr<cudf::column> offsets;  ///< INT32
  /// INT32 numbers of their elements, counted from `first`; null if these are ascending from 0,
  /// with no gap.
  std::unique_ptr<cudf::column> elements;
  std::int64_t first;         ///< element of the child array
  std::int64_t num_elements;  ///< from there on, that the numbers count among
};

/**
 * @brief Puts lists in the order of their rows. Null rows have no elements.
 *
 * On device memory this waits for the number of elements.
 *
 * @throws std::invalid_argument on host memory for a list that does not lie in the child array
 * @throws std::overflow_error for more elements than a column holds
 */
gathered_lists lists_from_views(list_view_rows const& rows,
                                column_path const& path,
                                execution const& exec);

/// Rows of a run-end encoded array.
struct run_rows {
  void const* ends;  ///< of the first run
  std::int64_t width;
  std::int64_t num_runs;
  std::int64_t begin;
  cudf::size_type size;
};

/**
 * @brief The run that each row belongs to.
 *
 * On device memory this waits for the last run end.
 *
 * @throws std::invalid_argument if the runs end before the rows do
 *
 * @return INT32 numbers
 */
std::unique_ptr<cudf::column> runs_of_rows(run_rows const& rows,
                                           column_path const& path,
                                           execution const& exec);

namespace host {
/// The bytes of one row, wherever they stand.
std::span<std::byte const> bytes_of_view(view_rows const& rows,
                                         std::int64_t row,
                                         column_path const& path);

/// @return Whether the row's view repeats the first of these bytes, as it should
bool has_prefix(view_rows const& rows, std::int64_t row, std::span<std::byte const> bytes);

/// Elements of one list.
struct list_range {
  std::int64_t begin;
  std::int64_t size;
};

/// The elements of one row.
list_range elements_of_view(list_view_rows const& rows, std::int64_t row, column_path const& path);

string_buffers strings_from_views(view_rows const& rows,
                                  column_path const& path,
                                  execution const& exec);
gathered_lists lists_from_views(list_view_rows const& rows,
                                column_path const& path,
                                execution const& exec);
std::unique_ptr<cudf::column> runs_of_rows(run_rows const& rows,
                                           column_path const& path,
                                           execution const& exec);
}  // namespace host

namespace device {
string_buffers strings_from_views(view_rows const& rows, execution const& exec);
gathered_lists lists_from_views(list_view_rows const& rows,
                                column_path const& path,
                                execution const& exec);
std::unique_ptr<cudf::column> runs_of_rows(run_rows const& rows,
                                           column_path const& path,
                                           execution const& exec);
}  // namespace device

}  // namespace cudf_arrow_bridge::detail
