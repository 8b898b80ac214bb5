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
#include <cudf_arrow_bridge/schema.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge {
namespace {

ArrowArray const& live_array(ArrowDeviceArray const* array, column_path const& path)
{
  if (array == nullptr || array->array.release == nullptr) {
    fail_invalid(path, "an array that was released already found");
  }
  return array->array;
}

/// What an import is called with, beside the types that the schema stands for.
struct import_call {
  ArrowDeviceArray* array;
  import_options const& options;
  column_path const& path;
  cuda::stream_ref stream;
  rmm::device_async_resource_ref mr;
};

/// Nothing in the array is followed before this has passed.
void validate(detail::parsed_tree const& types, import_call const& call)
{
  detail::validate(types, live_array(call.array, call.path), call.path);
  if (call.array->device_type == ARROW_DEVICE_CPU) {
    detail::validate_offsets(types, call.array->array, call.path);
    if (call.options.validate == validation::full) {
      detail::validate_values(types, call.array->array, call.path);
    }
  }
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

imported_column import_column(detail::parsed_tree const& types, import_call const& call)
{
  validate(types, call);
  auto const source =
    detail::open_source(types, call.array, false, call.options, call.path, call.stream, call.mr);
  return import_rows(types, source.root, 0, source.root.length, source, call.options, call.path);
}

/// Calls `take` with each field's types, array and path, and with the source of all. The batch's
/// own offset and length are each column's.
template <typename Take>
cudf::size_type take_fields(detail::parsed_tree const& types, import_call const& call, Take&& take)
{
  validate(types, call);
  if (types.type.layout != detail::array_layout::validity) {
    fail_invalid(call.path,
                 "the Arrow type '" + std::string{types.type.row->arrow} +
                   "' found, a struct expected: import it with kind=\"column\"");
  }
  auto const source =
    detail::open_source(types, call.array, true, call.options, call.path, call.stream, call.mr);
  for (std::size_t i = 0; i < types.children.size(); ++i) {
    auto const& field = types.children[i];
    take(field, *source.root.children[i], column_path{call.path, field.schema->name}, source);
  }
  return static_cast<cudf::size_type>(source.root.length);
}

imported_table import_table(detail::parsed_tree const& types, import_call const& call)
{
  auto result = imported_table{};
  result.columns.reserve(types.children.size());
  result.num_rows = take_fields(
    types, call, [&](auto const& field, auto const& child, auto const& path, auto const& source) {
      auto const offset = source.root.offset;
      auto const length = source.root.length;
      result.columns.push_back(
        import_rows(field, child, offset, length, source, call.options, path));
    });
  return result;
}

borrowed_table borrow_table(detail::parsed_tree const& types, import_call const& call)
{
  auto result = borrowed_table{};
  result.columns.reserve(types.children.size());
  result.num_rows = take_fields(
    types, call, [&](auto const& field, auto const& child, auto const& path, auto const& source) {
      auto const offset = source.root.offset;
      auto const length = source.root.length;
      if (result.owner == nullptr) {
        result.owner = std::make_shared<detail::foreign_share>(source.share.copy());
      }
      auto borrowed = detail::borrow_rows(
        field, child, offset, length, source.where, call.options.sanitize, path);
      if (borrowed) {
        result.columns.push_back(std::move(*borrowed));
      } else {
        result.columns.emplace_back().imported =
          import_rows(field, child, offset, length, source, call.options, path);
      }
    });
  return result;
}

template <typename Table>
cudf::table_view view_of(Table const& table)
{
  auto views = std::vector<cudf::column_view>{};
  views.reserve(table.columns.size());
  for (auto const& column : table.columns) { views.push_back(column.view()); }
  return cudf::table_view{views, table.num_rows};
}

/// Errors begin with the name of a column; a released schema has none to read either.
char const* name_of(ArrowSchema const& schema)
{ return schema.release == nullptr ? nullptr : schema.name; }

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

cudf::table_view imported_table::view() const { return view_of(*this); }

cudf::column_view borrowed_column::view() const
{
  if (imported.storage != nullptr) { return imported.view(); }
  auto children = std::vector<cudf::column_view>{};
  if (offsets != nullptr) {
    children.emplace_back(offsets_type, offset + size + 1, offsets, nullptr, 0);
  }
  return {
    type, size, data, static_cast<cudf::bitmask_type const*>(mask), null_count, offset, children};
}

cudf::table_view borrowed_table::view() const { return view_of(*this); }

imported_column from_arrow_device_column(ArrowSchema const& schema,
                                         ArrowDeviceArray* array,
                                         import_options const& options,
                                         cuda::stream_ref stream,
                                         rmm::device_async_resource_ref mr)
{
  detail::nvtx_range const range{__func__};
  auto const top   = column_path{};
  auto const path  = column_path{top, name_of(schema)};
  auto const types = detail::parse_types(schema, &live_array(array, path), path);
  return import_column(types, {array, options, path, stream, mr});
}

imported_table from_arrow_device_table(ArrowSchema const& schema,
                                       ArrowDeviceArray* array,
                                       import_options const& options,
                                       cuda::stream_ref stream,
                                       rmm::device_async_resource_ref mr)
{
  detail::nvtx_range const range{__func__};
  auto const top   = column_path{};
  auto const types = detail::parse_types(schema, &live_array(array, top), top);
  return import_table(types, {array, options, top, stream, mr});
}

borrowed_table borrow_arrow_device_table(ArrowSchema const& schema,
                                         ArrowDeviceArray* array,
                                         import_options const& options,
                                         cuda::stream_ref stream,
                                         rmm::device_async_resource_ref mr)
{
  detail::nvtx_range const range{__func__};
  auto const top   = column_path{};
  auto const types = detail::parse_types(schema, &live_array(array, top), top);
  return borrow_table(types, {array, options, top, stream, mr});
}

struct array_importer::state {
  explicit state(ArrowSchema const& schema) : held{copy_schema(schema).to_arrow()} {}

  unique_schema held;
  column_path top;
  column_path path{top, held->name};
  detail::parsed_tree types{detail::parse_types(*held.get(), nullptr, path)};
};

array_importer::array_importer(ArrowSchema const& schema)
  : state_{std::make_shared<state const>(schema)}
{
}

imported_column array_importer::column(ArrowDeviceArray* array,
                                       import_options const& options,
                                       cuda::stream_ref stream,
                                       rmm::device_async_resource_ref mr) const
{
  detail::nvtx_range const range{__func__};
  return import_column(state_->types, {array, options, state_->path, stream, mr});
}

imported_table array_importer::table(ArrowDeviceArray* array,
                                     import_options const& options,
                                     cuda::stream_ref stream,
                                     rmm::device_async_resource_ref mr) const
{
  detail::nvtx_range const range{__func__};
  return import_table(state_->types, {array, options, state_->top, stream, mr});
}

borrowed_table array_importer::borrow_table(ArrowDeviceArray* array,
                                            import_options const& options,
                                            cuda::stream_ref stream,
                                            rmm::device_async_resource_ref mr) const
{
  detail::nvtx_range const range{__func__};
  return cudf_arrow_bridge::borrow_table(state_->types, {array, options, state_->top, stream, mr});
}

}  // namespace cudf_arrow_bridge
