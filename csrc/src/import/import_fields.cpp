// SPDX-License-Identifier: Apache-2.0
#include "import/layouts.hpp"

namespace cudf_arrow_bridge::detail {

column_parts import_fields(column_importer const& importer, import_level const& level)
{
  auto result = column_parts{importer.no_buffer(), {}};
  for (std::size_t i = 0; i < level.types.children.size(); ++i) {
    auto const& field = level.types.children[i];
    auto const& child = *level.array.children[i];
    auto const path   = column_path{level.path, field.schema->name};
    result.children.push_back(
      importer.column({field, child, child_rows(level.type(), child, level.rows), path}));
  }
  return result;
}

}  // namespace cudf_arrow_bridge::detail
