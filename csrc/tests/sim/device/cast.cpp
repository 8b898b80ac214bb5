// SPDX-License-Identifier: Apache-2.0
/// @file
/// The device operations of compute/cast.hpp, with the implementations of the host. As in libcudf,
/// all operations except casts wait for the stream.
#include "compute/cast.hpp"

#include "compute/device/buffers.hpp"
#include "sim/fill_later.hpp"
#include "sim/kernels.hpp"
#include "sim/upload_column.hpp"

#include <cudf/utilities/type_dispatcher.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace cudf_arrow_bridge::detail::device {

std::unique_ptr<cudf::column> encode_dictionary(cudf::column_view const& column,
                                                execution const& exec)
{
  auto made = sim::wait_for(
    exec, [&](execution const& on_host) { return detail::encode_dictionary(column, on_host); });
  return sim::upload(std::move(made), exec);
}

std::unique_ptr<cudf::column> cast_column(cudf::column_view const& column,
                                          cudf::data_type type,
                                          execution const& exec)
{
  auto const width = cudf::size_of(column.type());
  if (reinterpret_cast<std::uintptr_t>(column.head<void>()) % width != 0) {
    throw std::invalid_argument{"a kernel reads values that are not aligned for their type"};
  }
  auto const bytes = static_cast<std::size_t>(column.size()) * cudf::size_of(type);
  auto data        = sim::fill_later(bytes, exec, [=](execution const& on_host) {
    return std::move(*detail::cast_column(column, type, on_host)->release().data);
  });
  auto mask = column.null_count() == 0
                ? rmm::device_buffer{0, exec.stream, exec.mr}
                : device::copy_bits({column.null_mask(), column.offset(), column.size()}, exec);
  return std::make_unique<cudf::column>(
    type, column.size(), std::move(data), std::move(mask), column.null_count());
}

value_range range_of(cudf::column_view const& column, read_back& others, execution const& exec)
{
  others.enqueue();
  auto const range = sim::wait_for(
    exec, [&](execution const& on_host) { return detail::range_of(column, on_host); });
  others.note_wait();
  return range;
}

bool has_whole_days(cudf::column_view const& column, execution const& exec)
{
  return sim::wait_for(
    exec, [&](execution const& on_host) { return detail::has_whole_days(column, on_host); });
}

rmm::device_buffer rows_of_lists(lists_of_size const& lists, execution const& exec)
{
  auto const bytes = static_cast<std::size_t>(lists.count) * static_cast<std::size_t>(lists.size) *
                     sizeof(std::int32_t);
  return sim::fill_later(bytes, exec, [lists](execution const& on_host) {
    return detail::rows_of_lists(lists, on_host);
  });
}

}  // namespace cudf_arrow_bridge::detail::device
