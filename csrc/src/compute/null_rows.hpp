// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compute/buffers.hpp"

#include <cudf/column/column.hpp>
#include <cudf/column/column_view.hpp>

#include <memory>

namespace cudf_arrow_bridge::detail {

/// Creates a column of null rows with the types of another column at every level.
std::unique_ptr<cudf::column> null_rows_like(cudf::column_view const& column,
                                             cudf::size_type size,
                                             execution const& exec);

}  // namespace cudf_arrow_bridge::detail
