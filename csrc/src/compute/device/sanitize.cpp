// SPDX-License-Identifier: Apache-2.0
#include "compute/sanitize.hpp"

#include "base/child_column.hpp"

#include <cudf/copying.hpp>

namespace cudf_arrow_bridge::detail::device {

bool has_nonempty_nulls(cudf::column_view const& column, execution const& exec)
{
  // Check only this column, by a view with empty elements: the caller checks its children.
  if (column.type().id() != cudf::type_id::LIST) {
    return cudf::has_nonempty_nulls(column, exec.stream);
  }
  auto const lists =
    cudf::column_view{column.type(),
                      column.size(),
                      nullptr,
                      column.null_mask(),
                      column.null_count(),
                      0,
                      {child_of(column, 0), flat_view(cudf::type_id::INT8, 0, nullptr)}};
  return cudf::has_nonempty_nulls(lists, exec.stream);
}

std::unique_ptr<cudf::column> empty_nulls(cudf::column_view const& column, execution const& exec)
{ return cudf::purge_nonempty_nulls(column, exec.stream, exec.mr); }

}  // namespace cudf_arrow_bridge::detail::device
