// SPDX-License-Identifier: Apache-2.0
#include "compute/gather.hpp"

namespace cudf_arrow_bridge::detail {

std::unique_ptr<cudf::column> gather_rows(cudf::column_view const& source,
                                          cudf::column_view const& map,
                                          column_path const& path,
                                          placement const& where)
{
  return where.host ? host::gather_rows(source, map, path, where)
                    : device::gather_rows(source, map, path, where);
}

}  // namespace cudf_arrow_bridge::detail
