// SPDX-License-Identifier: Apache-2.0
/// @file
/// The core's conversions of whole columns, likewise. All wait but the casts, as libcudf's do.
#include "compute/device/recast.hpp"

#include "compute/device/convert.hpp"
#include "compute/host/recast.hpp"
#include "sim/kernels.hpp"
#include "sim/upload_column.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <cstring>
#include <utility>

namespace cudf_arrow_bridge::detail::device {

std::unique_ptr<cudf::column> encode_dictionary(cudf::column_view const& column,
                                                placement const& where)
{
  auto made = sim::wait_for(
    where, [&](placement const& on_host) { return host::encode_dictionary(column, on_host); });
  return sim::upload(std::move(made), where);
}

std::unique_ptr<cudf::column> cast_column(cudf::column_view const& column,
                                          cudf::data_type type,
                                          placement const& where)
{
  auto const bytes = static_cast<std::size_t>(column.size()) * cudf::size_of(type);
  auto data        = rmm::device_buffer{bytes, where.stream, where.mr};
  sim::enqueue(where.stream.get(),
               [column, type, bytes, stream = where.stream, target = data.data()] {
                 auto const on_host = placement{true, stream, host_memory_resource()};
                 auto const made    = host::cast_column(column, type, on_host);
                 if (bytes > 0) { std::memcpy(target, made->view().head<void>(), bytes); }
               });
  auto mask = column.null_count() == 0
                ? rmm::device_buffer{0, where.stream, where.mr}
                : device::copy_bits({column.null_mask(), column.offset(), column.size()}, where);
  return std::make_unique<cudf::column>(
    type, column.size(), std::move(data), std::move(mask), column.null_count());
}

value_range range_of(cudf::column_view const& column, placement const& where)
{
  return sim::wait_for(where, [&](placement const&) { return host::range_of(column); });
}

bool has_whole_days(cudf::column_view const& column, placement const& where)
{
  return sim::wait_for(where, [&](placement const&) { return host::has_whole_days(column); });
}

bool has_lists_of(cudf::column_view const& column, cudf::size_type size, placement const& where)
{
  return sim::wait_for(where, [&](placement const&) { return host::has_lists_of(column, size); });
}

rmm::device_buffer pad_lists(cudf::column_view const& column,
                             cudf::size_type size,
                             placement const& where)
{
  auto made = sim::wait_for(
    where, [&](placement const& on_host) { return host::pad_lists(column, size, on_host); });
  return sim::upload(std::move(made), where);
}

}  // namespace cudf_arrow_bridge::detail::device
