// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compute/recast.hpp"

/// The operations of compute/recast.hpp on device memory, enqueued on the placement's stream.
namespace cudf_arrow_bridge::detail::device {

std::unique_ptr<cudf::column> encode_dictionary(cudf::column_view const& column,
                                                placement const& where);
std::unique_ptr<cudf::column> cast_column(cudf::column_view const& column,
                                          cudf::data_type type,
                                          placement const& where);
value_range range_of(cudf::column_view const& column, placement const& where);
bool has_whole_days(cudf::column_view const& column, placement const& where);
bool has_lists_of(cudf::column_view const& column, cudf::size_type size, placement const& where);
rmm::device_buffer pad_lists(cudf::column_view const& column,
                             cudf::size_type size,
                             placement const& where);

}  // namespace cudf_arrow_bridge::detail::device
