// SPDX-License-Identifier: Apache-2.0
#include "base/copy_log.hpp"
#include "base/errors.hpp"
#include "base/nvtx.hpp"
#include "base/parsed_type.hpp"
#include "compute/sanitize.hpp"
#include "import/column_importer.hpp"
#include "import/import_survey.hpp"
#include "import/source_array.hpp"
#include "import/upload_columns.hpp"
#include "schema/schema_tree.hpp"
#include "validate/validate.hpp"
#include "validate/validate_values.hpp"

#include <cudf_arrow_bridge/import.hpp>
#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/schema.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
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

/// Arguments of an import, except for the schema's types.
struct import_call {
  ArrowDeviceArray* array;
  import_options const& options;
  column_path const& path;
  cuda::stream_ref stream;
  rmm::device_async_resource_ref mr;
};

/// Validates the array. No pointer in it may be followed before.
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

/// A column to make: an array, its type and the rows to import.
struct planned_column {
  detail::parsed_tree const& types;
  ArrowArray const& array;
  column_path path;
  detail::row_range rows;

  [[nodiscard]] detail::import_level level() const { return {types, array, rows, path}; }
};

/// Leading rows are kept only to avoid copies, so columns to be uploaded keep none.
planned_column plan_column(detail::parsed_tree const& types,
                           ArrowArray const& array,
                           column_path const& path,
                           std::int64_t begin,
                           std::int64_t size,
                           detail::source_array const& source)
{
  auto const rows = source.to_upload ? detail::row_range{array.offset + begin, size, 0}
                                     : detail::choose_rows(types, array, begin, size, source.exec);
  return {types, array, path, rows};
}

/// Source of an import and the facts known of it. Not movable, as references to it are kept.
struct import_plan {
  import_plan(detail::parsed_tree const& types, import_call const& call)
    : source{detail::open_source(types, call.array, call.options, call.path, call.stream, call.mr)},
      copies{call.options.copy}
  {
  }

  import_plan(import_plan const&)            = delete;
  import_plan& operator=(import_plan const&) = delete;
  ~import_plan()                             = default;

  detail::source_array source;
  detail::import_facts facts;  ///< of device memory; host memory is read when needed
  detail::copy_log copies;     ///< of all columns
};

imported_column make_column(planned_column const& planned,
                            import_plan& plan,
                            import_options const& options)
{
  auto const& [types, array, path, rows] = planned;
  auto const& source                     = plan.source;
  auto const importer = detail::column_importer{source.share, source.exec, plan.facts, plan.copies};
  auto result         = imported_column{importer.column(planned.level()),
                                        static_cast<cudf::size_type>(rows.leading),
                                        static_cast<cudf::size_type>(rows.size)};
  if (options.sanitize && !detail::is_clean(types, array, rows, plan.facts)) {
    result.storage = detail::sanitize(std::move(result.storage), plan.copies, path, source.exec);
  }
  return result;
}

/// Plans the import of an array as a column, and finds out what must be known of device memory.
planned_column plan_array(detail::parsed_tree const& types,
                          import_plan& plan,
                          import_call const& call)
{
  auto const& root = plan.source.root;
  auto planned     = plan_column(types, root, call.path, 0, root.length, plan.source);
  if (!plan.source.exec.host) {
    auto survey = detail::import_survey{call.options.sanitize, plan.source.exec};
    survey.add(types, root, planned.rows);
    plan.facts = survey.run();
  }
  return planned;
}

/// Uploads columns that were made in host memory.
void upload(std::span<std::unique_ptr<cudf::column>*> storages,
            import_plan& plan,
            import_call const& call)
{
  detail::upload_columns(storages, call.stream, call.mr);
  for (auto const* storage : storages) {
    plan.copies.note((*storage)->view(), detail::copy_reason::upload);
  }
}

/// Makes a column from a validated array. `made` gets what could not be adopted.
imported_column make_array(detail::parsed_tree const& types,
                           import_call const& call,
                           std::vector<made_memory>& made)
{
  auto plan          = import_plan{types, call};
  auto const planned = plan_array(types, plan, call);
  auto result        = imported_column{};
  plan.copies.collect([&] { result = make_column(planned, plan, call.options); });
  plan.copies.check();
  if (plan.source.to_upload) {
    auto* storage = &result.storage;
    upload({&storage, 1}, plan, call);
  }
  made = plan.copies.take_made();
  return result;
}

imported_column import_column(detail::parsed_tree const& types, import_call const& call)
{
  validate(types, call);
  auto made = std::vector<made_memory>{};
  return make_array(types, call, made);
}

void check_is_struct(detail::parsed_tree const& types, column_path const& path)
{
  if (types.type.layout == detail::array_layout::validity) { return; }
  fail_invalid(path,
               "the Arrow type '" + std::string{types.type.row->arrow} +
                 "' found, a struct expected: import it with kind=\"column\"");
}

void check_no_null_rows(cudf::size_type null_count, column_path const& path)
{
  if (null_count == 0) { return; }
  fail_invalid(path,
               std::to_string(null_count) +
                 " null rows found, none expected in a table: import it with kind=\"column\"");
}

/// Checks host memory for null rows before the array is taken over, so that it stays the caller's.
void check_host_rows(ArrowDeviceArray const& array,
                     column_path const& path,
                     cuda::stream_ref stream)
{
  auto const& root = array.array;
  if (array.device_type != ARROW_DEVICE_CPU || !detail::has_mask(root)) { return; }
  auto const on_host = detail::execution{true, stream, host_memory_resource()};
  check_no_null_rows(detail::count_nulls({root.buffers[0], root.offset, root.length}, on_host),
                     path);
}

/// Plans one column of a table. The struct's offset and length apply to each of its children.
planned_column plan_field(detail::parsed_tree const& types,
                          std::size_t index,
                          import_plan const& plan,
                          import_call const& call)
{
  auto const& root  = plan.source.root;
  auto const& field = types.children[index];
  auto const path   = column_path{call.path, field.schema->name};
  return plan_column(field, *root.children[index], path, root.offset, root.length, plan.source);
}

void find_facts_of_fields(detail::parsed_tree const& types,
                          import_plan& plan,
                          import_call const& call)
{
  if (plan.source.exec.host) { return; }
  auto survey = detail::import_survey{call.options.sanitize, plan.source.exec};
  survey.add_null_count(types, plan.source.root);
  for (std::size_t i = 0; i < types.children.size(); ++i) {
    auto const planned = plan_field(types, i, plan, call);
    survey.add(planned.types, planned.array, planned.rows);
  }
  plan.facts = survey.run();
  check_no_null_rows(plan.facts.find(types)->null_count, call.path);
}

/// Makes a table from a validated array. `made` gets what could not be adopted.
imported_table make_table(detail::parsed_tree const& types,
                          import_call const& call,
                          std::vector<made_memory>& made)
{
  check_is_struct(types, call.path);
  check_host_rows(*call.array, call.path, call.stream);
  auto plan = import_plan{types, call};
  find_facts_of_fields(types, plan, call);
  auto result     = imported_table{};
  result.num_rows = static_cast<cudf::size_type>(plan.source.root.length);
  result.columns.reserve(types.children.size());
  for (std::size_t i = 0; i < types.children.size(); ++i) {
    plan.copies.collect([&] {
      result.columns.push_back(make_column(plan_field(types, i, plan, call), plan, call.options));
    });
  }
  plan.copies.check();
  if (plan.source.to_upload) {
    auto storages = std::vector<std::unique_ptr<cudf::column>*>{};
    for (auto& column : result.columns) { storages.push_back(&column.storage); }
    upload(storages, plan, call);
  }
  made = plan.copies.take_made();
  return result;
}

imported_table import_table(detail::parsed_tree const& types, import_call const& call)
{
  validate(types, call);
  auto made = std::vector<made_memory>{};
  return make_table(types, call, made);
}

/// Wraps an uploaded table, which owns its columns and borrows nothing.
borrowed_table as_borrowed(imported_table&& table, std::vector<made_memory>&& made)
{
  auto result     = borrowed_table{};
  result.made     = std::move(made);
  result.num_rows = table.num_rows;
  for (auto& column : table.columns) { result.columns.emplace_back().imported = std::move(column); }
  return result;
}

/// A table for borrowed columns, which keeps their memory.
borrowed_table start_borrowing(detail::source_array const& source)
{
  auto result     = borrowed_table{};
  result.num_rows = static_cast<cudf::size_type>(source.root.length);
  result.owner    = std::make_shared<detail::foreign_share>(source.share.copy());
  return result;
}

/// Adds a column to a table: borrowed if it can be, else made.
void add_borrowed(planned_column const& planned,
                  import_plan& plan,
                  import_call const& call,
                  borrowed_table& table)
{
  auto borrowed =
    detail::borrow_rows(planned.level(), plan.source.exec, plan.facts, call.options.sanitize);
  if (borrowed) {
    table.columns.push_back(std::move(*borrowed));
  } else {
    table.columns.emplace_back().imported = make_column(planned, plan, call.options);
  }
}

/// Ends an import: throws if a column was refused.
void finish(import_plan& plan, borrowed_table& table)
{
  plan.copies.check();
  table.made = plan.copies.take_made();
}

bool must_be_uploaded(import_call const& call)
{ return call.array->device_type == ARROW_DEVICE_CPU && has_gpu(); }

borrowed_table borrow_table(detail::parsed_tree const& types, import_call const& call)
{
  validate(types, call);
  if (must_be_uploaded(call)) {
    auto made  = std::vector<made_memory>{};
    auto table = make_table(types, call, made);
    return as_borrowed(std::move(table), std::move(made));
  }
  check_is_struct(types, call.path);
  check_host_rows(*call.array, call.path, call.stream);
  auto plan = import_plan{types, call};
  find_facts_of_fields(types, plan, call);
  auto result = start_borrowing(plan.source);
  result.columns.reserve(types.children.size());
  for (std::size_t i = 0; i < types.children.size(); ++i) {
    plan.copies.collect(
      [&] { add_borrowed(plan_field(types, i, plan, call), plan, call, result); });
  }
  finish(plan, result);
  return result;
}

borrowed_table borrow_column(detail::parsed_tree const& types, import_call const& call)
{
  validate(types, call);
  if (must_be_uploaded(call)) {
    auto uploaded     = imported_table{};
    uploaded.num_rows = static_cast<cudf::size_type>(call.array->array.length);
    auto made         = std::vector<made_memory>{};
    uploaded.columns.push_back(make_array(types, call, made));
    return as_borrowed(std::move(uploaded), std::move(made));
  }
  auto plan          = import_plan{types, call};
  auto const planned = plan_array(types, plan, call);
  auto result        = start_borrowing(plan.source);
  plan.copies.collect([&] { add_borrowed(planned, plan, call, result); });
  finish(plan, result);
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

/// Column name for errors; null for a released schema, whose pointers are invalid.
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
  explicit state(ArrowSchema const& schema) : handle{copy_schema(schema)} {}

  shared_schema handle;
  ArrowSchema const& held{detail::schema_access::struct_of(handle)};
  column_path top;
  column_path path{top, held.name};
  // The name of a struct may be that of a table, such as duckdb's "duckdb_query_result".
  detail::parsed_tree types{
    detail::parse_types(held, nullptr, std::string_view{held.format} == "+s" ? top : path)};
};

array_importer::array_importer(ArrowSchema const& schema)
  : state_{std::make_shared<state const>(schema)}
{
}

shared_schema const& array_importer::schema() const noexcept { return state_->handle; }

bool array_importer::has_schema(ArrowSchema const& schema) const
{ return equal_schemas(state_->held, schema); }

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

borrowed_table array_importer::borrow_column(ArrowDeviceArray* array,
                                             import_options const& options,
                                             cuda::stream_ref stream,
                                             rmm::device_async_resource_ref mr) const
{
  detail::nvtx_range const range{__func__};
  return cudf_arrow_bridge::borrow_column(state_->types,
                                          {array, options, state_->path, stream, mr});
}

}  // namespace cudf_arrow_bridge
