// SPDX-License-Identifier: Apache-2.0
/// @file
/// The device operation of compute/gather.hpp, with the implementations of the host.
#include "compute/gather.hpp"

#include "sim/upload_column.hpp"

#include <cudf/utilities/traits.hpp>
#include <cudf/utilities/type_dispatcher.hpp>

#include <utility>

namespace cudf_arrow_bridge::detail::device {

std::unique_ptr<cudf::column> gather_rows(cudf::column_view const& source,
                                          cudf::column_view const& map,
                                          column_path const& path,
                                          execution const& exec)
{
  // libcudf's traits throw for EMPTY.
  auto const is_fixed =
    source.type().id() != cudf::type_id::EMPTY && cudf::is_fixed_width(source.type());
  if (is_fixed && source.null_mask() == nullptr) {
    auto const bytes = static_cast<std::size_t>(map.size()) * cudf::size_of(source.type());
    auto data        = sim::fill_later(bytes, exec, [=](execution const& on_host) {
      auto made = detail::gather_rows(source, map, column_path{}, on_host);
      return std::move(*made->release().data);
    });
    return std::make_unique<cudf::column>(
      source.type(), map.size(), std::move(data), rmm::device_buffer{0, exec.stream, exec.mr}, 0);
  }
  auto made = sim::wait_for(exec, [&](execution const& on_host) {
    return detail::gather_rows(source, map, path, on_host);
  });
  return sim::upload(std::move(made), exec);
}

}  // namespace cudf_arrow_bridge::detail::device
