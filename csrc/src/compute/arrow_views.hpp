// SPDX-License-Identifier: Apache-2.0
/// @file
/// Converts string views, list views and run-end encoding to layouts that libcudf has. Each
/// function runs on the CPU for host memory and through libcudf's public algorithms for device
/// memory.
///
/// References are bounds-checked before they are followed, also in device memory.
#pragma once

#include "base/errors.hpp"
#include "compute/buffers.hpp"

#include <cudf/column/column.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cudf_arrow_bridge::detail {

/// Rows of a string_view or binary_view array.
struct view_rows {
  void const* views;     ///< 16 bytes each
  std::int64_t begin;    ///< first row, counted from `views`
  cudf::size_type size;  ///< rows
  row_mask mask;
  std::span<void const* const> data;  ///< the data buffers
  void const* data_sizes;             ///< their sizes as int64
};

/// Data and offsets of a string column.
struct string_buffers {
  rmm::device_buffer data;
  std::unique_ptr<cudf::column> offsets;  ///< INT32, or INT64 if the data has 2 GiB or more
};

/**
 * @brief Copies the strings of views to one buffer, in the order of their rows. Null rows become
 * empty.
 *
 * On device memory this copies the views to the host to check them, and waits for the size of that
 * buffer.
 *
 * @throws std::invalid_argument for a view outside its data buffer
 */
string_buffers strings_from_views(view_rows const& rows,
                                  column_path const& path,
                                  execution const& exec);

/// Rows of a list_view or large_list_view array.
struct list_view_rows {
  void const* offsets;
  void const* sizes;
  std::int64_t width;    ///< bytes of each offset and each size
  std::int64_t begin;    ///< first row, counted from the start of both buffers
  cudf::size_type size;  ///< rows
  row_mask mask;
  std::int64_t num_elements;  ///< in the child array
};

/// The parts of a list column made from list views: its offsets, and a gather map for its elements.
struct gathered_lists {
  std::unique_ptr<cudf::column> offsets;  ///< INT32
  /// INT32 gather map of the elements, relative to `first`; null if it would be 0, 1, 2, ...
  std::unique_ptr<cudf::column> elements;
  std::int64_t first;         ///< first element of the child array that the map may refer to
  std::int64_t num_elements;  ///< the number of elements from `first` that the map may refer to
};

/**
 * @brief Makes offsets and a gather map that put lists in the order of their rows. Null rows become
 * empty.
 *
 * On device memory this waits for the check of the lists, and for the number of elements.
 *
 * @throws std::invalid_argument for a list outside the child array
 * @throws std::overflow_error for more elements than a column holds
 */
gathered_lists lists_from_views(list_view_rows const& rows,
                                column_path const& path,
                                execution const& exec);

/// Rows of a run-end encoded array.
struct run_rows {
  void const* ends;       ///< the run ends, from the first run on
  std::int64_t width;     ///< bytes of each run end
  std::int64_t num_runs;  ///< runs
  std::int64_t begin;     ///< first row, in the numbering of the run ends
  cudf::size_type size;   ///< rows
};

/**
 * @brief Repeats the value of each run for its rows.
 *
 * On device memory this waits for the last run end, and as `gather_rows` does.
 *
 * @throws std::invalid_argument if the last run ends before the last row
 * @throws std::overflow_error as `gather_rows` does
 */
std::unique_ptr<cudf::column> repeat_runs(cudf::column_view const& values,
                                          run_rows const& rows,
                                          column_path const& path,
                                          execution const& exec);

namespace host {
/// The bytes of one row: in the view itself, or in a data buffer. Empty for a null row.
std::span<std::byte const> bytes_of_view(view_rows const& rows,
                                         std::int64_t row,
                                         column_path const& path);

/// @return Whether the prefix in the row's view matches `bytes`, the bytes of the row
bool has_prefix(view_rows const& rows, std::int64_t row, std::span<std::byte const> bytes);

/// A range of elements of the child array.
struct list_range {
  std::int64_t begin;
  std::int64_t size;
};

/// The elements of one row. Empty for a null row.
list_range elements_of_view(list_view_rows const& rows, std::int64_t row, column_path const& path);

/// Index of the run of each row, as INT32.
std::unique_ptr<cudf::column> runs_of_rows(run_rows const& rows,
                                           column_path const& path,
                                           execution const& exec);
}  // namespace host

/// The implementations for device memory, with the same signatures.
namespace device {
decltype(detail::strings_from_views) strings_from_views;
decltype(detail::lists_from_views) lists_from_views;
decltype(host::runs_of_rows) runs_of_rows;  // the last run must end after the last row
}  // namespace device

}  // namespace cudf_arrow_bridge::detail
