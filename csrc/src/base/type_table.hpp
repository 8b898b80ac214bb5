// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/types.hpp>

#include <string_view>

namespace cudf_arrow_bridge::detail {

/// @return The first row with this Arrow name; null: none
type_row const* find_type_named(std::string_view name);

/// @return The first row whose format matches a format string; null: none
type_row const* find_type_of_format(std::string_view format);

}  // namespace cudf_arrow_bridge::detail
