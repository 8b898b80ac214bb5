// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compute/cast.hpp"

/// The operations of compute/cast.hpp on device memory, enqueued on the execution's stream.
namespace cudf_arrow_bridge::detail::device {

std::unique_ptr<cudf::column> encode_dictionary(cudf::column_view const& column,
                                                execution const& exec);
std::unique_ptr<cudf::column> cast_column(cudf::column_view const& column,
                                          cudf::data_type type,
                                          execution const& exec);
value_range range_of(cudf::column_view const& column, execution const& exec);
bool has_whole_days(cudf::column_view const& column, execution const& exec);
bool has_lists_of(cudf::column_view const& column, cudf::size_type size, execution const& exec);
rmm::device_buffer pad_lists(cudf::column_view const& column,
                             cudf::size_type size,
                             execution const& exec);
rmm::device_buffer rows_of_lists(lists_of_size const& lists, execution const& exec);

}  // namespace cudf_arrow_bridge::detail::device
