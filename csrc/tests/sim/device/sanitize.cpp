// SPDX-License-Identifier: Apache-2.0
/// @file
/// The device operations of compute/sanitize.hpp, with the implementations of the host.
#include "compute/sanitize.hpp"

#include "sim/upload_column.hpp"

#include <utility>

namespace cudf_arrow_bridge::detail::device {

bool has_nonempty_nulls(cudf::column_view const& column, execution const& exec)
{
  return sim::wait_for(
    exec, [&](execution const& on_host) { return detail::needs_emptying(column, on_host); });
}

std::unique_ptr<cudf::column> empty_nulls(cudf::column_view const& column, execution const& exec)
{
  auto made = sim::wait_for(
    exec, [&](execution const& on_host) { return detail::empty_nulls(column, on_host); });
  return sim::upload(std::move(made), exec);
}

}  // namespace cudf_arrow_bridge::detail::device
