// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/types.hpp>

#include <string_view>

namespace cudf_arrow_bridge::detail {

/// @return The first row of an Arrow type, by its name; null: there is none
type_row const* find_type_named(std::string_view name);

/// @return The first row that a format string is one of; null: the specification knows none
type_row const* find_type_of_format(std::string_view format);

}  // namespace cudf_arrow_bridge::detail
