// SPDX-License-Identifier: Apache-2.0
#include "column_importer.hpp"
#include "errors.hpp"
#include "nvtx.hpp"
#include "parsed_type.hpp"
#include "sanitize.hpp"
#include "source_array.hpp"
#include "validate.hpp"
#include "validate_values.hpp"

#include <cudf_arrow_bridge/import.hpp>

#include <string>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge {
namespace {

/// Nothing in the array is followed before this has passed.
detail::parsed_tree validate(ArrowSchema const& schema,
                             ArrowDeviceArray const* array,
                             import_options const& options,
                             column_path const& path)
{
  if (array == nullptr || array->array.release == nullptr) {
    fail_invalid(path, "an array that was released already found");
  }
  auto types = detail::validate(schema, array->array, path);
  if (array->device_type == ARROW_DEVICE_CPU) {
    detail::validate_offsets(types, array->array, path);
    if (options.validate == validation::full) {
      detail::validate_values(types, array->array, path);
    }
  }
  return types;
}

imported_column import_rows(detail::parsed_tree const& types,
                            ArrowArray const& array,
                            std::int64_t begin,
                            std::int64_t size,
                            detail::source_array const& source,
                            import_options const& options,
                            column_path const& path)
{
  auto result = detail::import_rows(types, array, begin, size, source.share, source.where, path);
  if (options.sanitize) {
    result.storage = detail::sanitize(std::move(result.storage), source.where);
  }
  return result;
}

}  // namespace

cudf::column_view imported_column::view() const
{
  auto const whole = storage->view();
  return {whole.type(),
          size,
          whole.head<void>(),
          whole.null_mask(),
          whole.type().id() == cudf::type_id::EMPTY ? size : whole.null_count(),
          offset,
          {whole.child_begin(), whole.child_end()}};
}

cudf::table_view imported_table::view() const
{
  auto views = std::vector<cudf::column_view>{};
  views.reserve(columns.size());
  for (auto const& column : columns) { views.push_back(column.view()); }
  return cudf::table_view{views, num_rows};
}

imported_column from_arrow_device_column(ArrowSchema const& schema,
                                         ArrowDeviceArray* array,
                                         import_options const& options,
                                         cuda::stream_ref stream,
                                         rmm::device_async_resource_ref mr)
{
  detail::nvtx_range const range{__func__};
  auto const top = column_path{};
  // A released schema has no name to read either.
  auto const path   = column_path{top, schema.release == nullptr ? nullptr : schema.name};
  auto const types  = validate(schema, array, options, path);
  auto const source = detail::open_source(types, array, false, options, path, stream, mr);
  return import_rows(types, source.root, 0, source.root.length, source, options, path);
}

imported_table from_arrow_device_table(ArrowSchema const& schema,
                                       ArrowDeviceArray* array,
                                       import_options const& options,
                                       cuda::stream_ref stream,
                                       rmm::device_async_resource_ref mr)
{
  detail::nvtx_range const range{__func__};
  auto const top   = column_path{};
  auto const types = validate(schema, array, options, top);
  if (types.type.layout != detail::array_layout::validity) {
    fail_invalid(top,
                 "the Arrow type '" + std::string{types.type.row->arrow} +
                   "' found, a struct expected: import it with kind=\"column\"");
  }
  auto const source = detail::open_source(types, array, true, options, top, stream, mr);
  auto const& root  = source.root;
  auto result       = imported_table{{}, static_cast<cudf::size_type>(root.length)};
  result.columns.reserve(types.children.size());
  for (std::size_t i = 0; i < types.children.size(); ++i) {
    auto const& field = types.children[i];
    // The batch's own offset and length are each column's.
    auto const path = column_path{top, field.schema->name};
    result.columns.push_back(
      import_rows(field, *root.children[i], root.offset, root.length, source, options, path));
  }
  return result;
}

}  // namespace cudf_arrow_bridge
