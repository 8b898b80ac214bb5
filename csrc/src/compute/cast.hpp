// SPDX-License-Identifier: Apache-2.0
/// @file
/// What an export does to whole columns when a schema asks for it. As with buffers.hpp, each runs
/// on the CPU for host memory and through libcudf's public algorithms for device memory.
#pragma once

#include "compute/buffers.hpp"

#include <cudf/column/column.hpp>
#include <cudf/column/column_view.hpp>

#include <rmm/device_buffer.hpp>

#include <cstdint>
#include <memory>

namespace cudf_arrow_bridge::detail {

/// A DICTIONARY32 column of a column's rows, with INT32 indices; the values are those that occur,
/// each once. On device memory this waits for how many there are.
std::unique_ptr<cudf::column> encode_dictionary(cudf::column_view const& column,
                                                execution const& exec);

/// Decimals of another width and the same scale, or timestamps in another unit, rounded down.
std::unique_ptr<cudf::column> cast_column(cudf::column_view const& column,
                                          cudf::data_type type,
                                          execution const& exec);

/// The least and the greatest value of a column's rows that are not null.
struct value_range {
  bool any;
  __int128_t least;
  __int128_t greatest;
};

/// Of durations and decimals, counted in their unit or scale. On device memory this waits.
value_range range_of(cudf::column_view const& column, execution const& exec);

/// Whether no row of a timestamp column is within a day. On device memory this waits.
bool has_whole_days(cudf::column_view const& column, execution const& exec);

/// Whether each row of a LIST column that is not null has `size` elements. On device memory this
/// waits.
bool has_lists_of(cudf::column_view const& column, cudf::size_type size, execution const& exec);

/// The elements of LIST<UINT8> rows of `size` elements each, with zeros for null rows. On device
/// memory this waits.
rmm::device_buffer pad_lists(cudf::column_view const& column,
                             cudf::size_type size,
                             execution const& exec);

/// The bytes of a column that Arrow keeps as variable-size binary.
struct byte_strings {
  void const* offsets;
  std::int64_t offset_width;  ///< bytes
  void const* data;
  void const* mask;      ///< null: no row is null
  cudf::size_type size;  ///< rows
};

/// Arrow's views of strings into one buffer, which begins where `data` does; host memory only.
rmm::device_buffer make_views(byte_strings const& strings, execution const& exec);

}  // namespace cudf_arrow_bridge::detail
