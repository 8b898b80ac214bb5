// SPDX-License-Identifier: Apache-2.0
#include "compute/convert_views.hpp"

namespace cudf_arrow_bridge::detail {

string_buffers strings_from_views(view_rows const& rows,
                                  column_path const& path,
                                  placement const& where)
{
  return where.host ? host::strings_from_views(rows, path, where)
                    : device::strings_from_views(rows, where);
}

gathered_lists lists_from_views(list_view_rows const& rows,
                                column_path const& path,
                                placement const& where)
{
  return where.host ? host::lists_from_views(rows, path, where)
                    : device::lists_from_views(rows, path, where);
}

std::unique_ptr<cudf::column> runs_of_rows(run_rows const& rows,
                                           column_path const& path,
                                           placement const& where)
{
  return where.host ? host::runs_of_rows(rows, path, where)
                    : device::runs_of_rows(rows, path, where);
}

}  // namespace cudf_arrow_bridge::detail
