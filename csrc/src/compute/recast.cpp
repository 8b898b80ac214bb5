// SPDX-License-Identifier: Apache-2.0
#include "compute/recast.hpp"

#include "compute/device/recast.hpp"
#include "compute/host/recast.hpp"

namespace cudf_arrow_bridge::detail {

std::unique_ptr<cudf::column> encode_dictionary(cudf::column_view const& column,
                                                placement const& where)
{
  return where.host ? host::encode_dictionary(column, where)
                    : device::encode_dictionary(column, where);
}

std::unique_ptr<cudf::column> cast_column(cudf::column_view const& column,
                                          cudf::data_type type,
                                          placement const& where)
{
  return where.host ? host::cast_column(column, type, where)
                    : device::cast_column(column, type, where);
}

value_range range_of(cudf::column_view const& column, placement const& where)
{ return where.host ? host::range_of(column) : device::range_of(column, where); }

bool has_whole_days(cudf::column_view const& column, placement const& where)
{ return where.host ? host::has_whole_days(column) : device::has_whole_days(column, where); }

bool has_lists_of(cudf::column_view const& column, cudf::size_type size, placement const& where)
{
  return where.host ? host::has_lists_of(column, size) : device::has_lists_of(column, size, where);
}

rmm::device_buffer pad_lists(cudf::column_view const& column,
                             cudf::size_type size,
                             placement const& where)
{
  return where.host ? host::pad_lists(column, size, where) : device::pad_lists(column, size, where);
}

}  // namespace cudf_arrow_bridge::detail
