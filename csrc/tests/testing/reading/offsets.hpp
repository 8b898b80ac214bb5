// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf/column/column_view.hpp>

#include <cstdint>

namespace cudf_arrow_bridge::test {

/// Return an offset of a list or string column, by its index from the head of the buffer.
[[nodiscard]] std::int64_t offset_at(cudf::column_view const& column, std::int64_t index);

}  // namespace cudf_arrow_bridge::test
