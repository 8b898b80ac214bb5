// SPDX-License-Identifier: Apache-2.0
#include "compute/gather.hpp"
#include "import/layouts.hpp"

#include <utility>

namespace cudf_arrow_bridge::detail {

namespace {

std::unique_ptr<cudf::column> decode(column_importer const& importer, import_level const& level)
{
  auto const& ends   = *level.array.children[0];
  auto const& values = *level.array.children[1];
  auto const path    = column_path{level.path, level.types.children[1].schema->name};
  auto const column  = [&](std::int64_t size) {
    return importer.column({level.types.children[1], values, {values.offset, size, 0}, path});
  };
  if (level.rows.storage_size() == 0) { return column(0); }
  auto const width = level.types.children[0].type.element_bits / 8;
  auto const runs =
    runs_of_rows({static_cast<std::byte const*>(ends.buffers[1]) + ends.offset * width,
                  width,
                  ends.length,
                  level.rows.storage_begin(),
                  level.rows.num_rows()},
                 level.path,
                 importer.where());
  return gather_rows(column(ends.length)->view(), runs->view(), level.path, importer.where());
}

}  // namespace

column_parts import_runs(column_importer const& importer, import_level const& level)
{
  auto column           = decode(importer, level);
  auto const null_count = column->null_count();
  auto contents         = column->release();
  return {std::move(*contents.data),
          std::move(contents.children),
          mask_buffer{std::move(*contents.null_mask), null_count}};
}

}  // namespace cudf_arrow_bridge::detail
