// SPDX-License-Identifier: Apache-2.0
/// @file
/// Conversions of whole columns for exports with a requested schema. Each runs on the CPU for host
/// memory and through libcudf's public algorithms for device memory.
#pragma once

#include "compute/buffers.hpp"
#include "cuda/transfer/read_back.hpp"

#include <cudf/column/column.hpp>
#include <cudf/column/column_view.hpp>

#include <rmm/device_buffer.hpp>

#include <cstdint>
#include <memory>

namespace cudf_arrow_bridge::detail {

/// Encodes a column as DICTIONARY32 with INT32 indices; the keys are the distinct values. Waits for
/// their number on device memory.
std::unique_ptr<cudf::column> encode_dictionary(cudf::column_view const& column,
                                                execution const& exec);

/// Casts as `cudf::cast` does: integers and decimals to another width, integers to bools or
/// durations, timestamps to another unit (rounded down), and durations of days to seconds.
std::unique_ptr<cudf::column> cast_column(cudf::column_view const& column,
                                          cudf::data_type type,
                                          execution const& exec);

/// The minimum and maximum of the valid rows of a column.
struct value_range {
  bool any;  ///< whether there is a valid row; otherwise the others are 0
  __int128_t least;
  __int128_t greatest;

  /// @return Whether all valid rows have this value
  [[nodiscard]] bool is_only(__int128_t value) const
  { return !any || (least == value && greatest == value); }
};

/// The range of signed integers, durations or decimals, as stored integers. Waits on device memory.
value_range range_of(cudf::column_view const& column, execution const& exec);

/// The number of units of a timestamp or duration type in a day.
std::int64_t ticks_a_day(cudf::type_id unit);

/// Whether all valid rows of a timestamp column are at midnight. Waits on device memory.
bool has_whole_days(cudf::column_view const& column, execution const& exec);

/// The least and the greatest number of elements of the valid rows of a LIST column. Waits on
/// device memory.
value_range sizes_of_lists(cudf::column_view const& column, execution const& exec);

/// Lists of a fixed size in a child column.
struct lists_of_size {
  std::int32_t const* begins;  ///< the child's row where each list begins
  cudf::size_type count;       ///< lists
  cudf::size_type size;        ///< elements of each
  cudf::size_type first;       ///< first row of the child that may be used
  cudf::size_type last;        ///< last row of the child that may be used
};

/// The rows of the child in each list, as INT32: `size` for each list. A row outside of the usable
/// range, for example of a null list at the end, becomes the nearest usable row.
rmm::device_buffer rows_of_lists(lists_of_size const& lists, execution const& exec);

/// The buffers of strings, or of lists of bytes, in Arrow's variable-size binary layout.
struct byte_strings {
  void const* offsets;        ///< `size + 1` offsets into `data`
  std::int64_t offset_width;  ///< bytes
  void const* data;
  void const* mask;      ///< null: no row is null
  cudf::size_type size;  ///< rows
};

/// Makes Arrow string views that refer to `data` as data buffer 0. Host memory only.
rmm::device_buffer make_views(byte_strings const& strings, execution const& exec);

/// The implementations for device memory, with the same signatures.
namespace device {
decltype(detail::encode_dictionary) encode_dictionary;
decltype(detail::cast_column) cast_column;
decltype(detail::has_whole_days) has_whole_days;
decltype(detail::rows_of_lists) rows_of_lists;

/// The range of a column with at least one valid row. Also does the reads that were added to
/// `others`, with the same wait.
value_range range_of(cudf::column_view const& column, read_back& others, execution const& exec);
}  // namespace device

}  // namespace cudf_arrow_bridge::detail
