// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/export.hpp>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Checks that an input is one column, or columns of as many rows as their table. Costs
 * O(columns).
 *
 * @throws std::invalid_argument if it is not
 */
void check_input(export_input const& input);

}  // namespace cudf_arrow_bridge::detail
