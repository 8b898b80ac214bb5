// SPDX-License-Identifier: Apache-2.0
/// @file
/// The device operations of compute/arrow_views.hpp, with the implementations of the host.
#include "compute/arrow_views.hpp"

#include "sim/upload_column.hpp"

#include <utility>

namespace cudf_arrow_bridge::detail::device {

string_buffers strings_from_views(view_rows const& rows,
                                  column_path const& /*path*/,
                                  execution const& exec)
{
  auto made = sim::wait_for(exec, [&](execution const& on_host) {
    return detail::strings_from_views(rows, column_path{}, on_host);
  });
  return {sim::upload(std::move(made.data), exec), sim::upload(std::move(made.offsets), exec)};
}

gathered_lists lists_from_views(list_view_rows const& rows,
                                column_path const& path,
                                execution const& exec)
{
  auto made = sim::wait_for(
    exec, [&](execution const& on_host) { return detail::lists_from_views(rows, path, on_host); });
  return {sim::upload(std::move(made.offsets), exec),
          made.elements == nullptr ? nullptr : sim::upload(std::move(made.elements), exec),
          made.first,
          made.num_elements};
}

std::unique_ptr<cudf::column> runs_of_rows(run_rows const& rows,
                                           column_path const& /*path*/,
                                           execution const& exec)
{
  auto runs = sim::fill_later(
    static_cast<std::size_t>(rows.size) * 4, exec, [rows](execution const& on_host) {
      return std::move(*host::runs_of_rows(rows, column_path{}, on_host)->release().data);
    });
  return std::make_unique<cudf::column>(cudf::data_type{cudf::type_id::INT32},
                                        rows.size,
                                        std::move(runs),
                                        rmm::device_buffer{0, exec.stream, exec.mr},
                                        0);
}

}  // namespace cudf_arrow_bridge::detail::device
