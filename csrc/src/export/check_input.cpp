// SPDX-License-Identifier: Apache-2.0
#include "export/check_input.hpp"

#include "base/errors.hpp"

#include <stdexcept>
#include <string>

namespace cudf_arrow_bridge::detail {

void check_input(export_input const& input)
{
  if (!input.is_table && input.columns.size() != 1) {
    throw std::invalid_argument{std::to_string(input.columns.size()) +
                                " columns found, one expected of what is no table"};
  }
  if (input.num_rows < 0) {
    throw std::invalid_argument{std::to_string(input.num_rows) +
                                " rows found, at least 0 expected"};
  }
  for (std::size_t i = 0; i < input.columns.size(); ++i) {
    if (input.columns[i].size() == input.num_rows) { continue; }
    fail_invalid(column_path{column_path{}, i},
                 std::to_string(input.columns[i].size()) + " rows found, " +
                   std::to_string(input.num_rows) + " expected");
  }
}

}  // namespace cudf_arrow_bridge::detail
