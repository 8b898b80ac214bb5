// SPDX-License-Identifier: Apache-2.0
#include "compute/gather.hpp"

#include "base/child_column.hpp"

#include <cudf/copying.hpp>
#include <cudf/table/table.hpp>
#include <cudf/table/table_view.hpp>
#include <cudf/utilities/error.hpp>

#include <utility>

namespace cudf_arrow_bridge::detail::device {

std::unique_ptr<cudf::column> gather_rows(cudf::column_view const& source,
                                          cudf::column_view const& map,
                                          column_path const& path,
                                          execution const& exec)
{
  if (has_null_column(source)) {
    fail<cudf::data_type_error>(
      path,
      "libcudf cannot gather columns of the null type: give it another type, or import from host "
      "memory");
  }
  auto rows = cudf::gather(cudf::table_view{{source}},
                           map,
                           cudf::out_of_bounds_policy::DONT_CHECK,
                           cudf::negative_index_policy::NOT_ALLOWED,
                           exec.stream,
                           exec.mr);
  return std::move(rows->release().front());
}

}  // namespace cudf_arrow_bridge::detail::device
