// SPDX-License-Identifier: Apache-2.0
#include "base/copy_log.hpp"
#include "base/errors.hpp"
#include "base/nvtx.hpp"
#include "base/parsed_type.hpp"
#include "compute/sanitize.hpp"
#include "import/column_importer.hpp"
#include "import/source_array.hpp"
#include "schema/schema_tree.hpp"
#include "validate/validate.hpp"

#include <cudf_arrow_bridge/import.hpp>
#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/schema.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge {
namespace {

void check_no_null_rows(cudf::size_type null_count, column_path const& path)
{
  if (null_count == 0) { return; }
  fail_invalid(path,
               "a table cannot have null rows, and this one has " + std::to_string(null_count) +
                 ": import it with kind=\"column\"");
}

/// Checks that an array is a table. Reads only host memory, before ownership of the array is taken,
/// so that the caller keeps it after an error.
void check_table(detail::import_call const& call)
{
  auto const& type = call.types.type;
  if (type.layout != detail::array_layout::validity) {
    fail_invalid(call.path,
                 "a table must be a struct, and the Arrow type is '" +
                   std::string{type.row->arrow} + "': import it with kind=\"column\"");
  }
  auto const& root = call.array->array;
  if (call.array->device_type != ARROW_DEVICE_CPU || !detail::has_mask(root)) { return; }
  auto const on_host = detail::execution{true, call.stream, host_memory_resource()};
  check_no_null_rows(detail::count_nulls({root.buffers[0], root.offset, root.length}, on_host),
                     call.path);
}

/// Validates the array. No pointer in it may be followed before.
void validate(detail::import_call const& call)
{
  if (call.array == nullptr) { fail_invalid(call.path, "the array is null"); }
  detail::validate(call.types, call.array->array, call.path);
  if (call.array->device_type == ARROW_DEVICE_CPU) {
    auto const all_rows = call.options.validate == validation::full;
    detail::validate_contents(call.types, call.array->array, all_rows, true, call.path);
  }
  if (call.is_table) { check_table(call); }
}

/// The import of a validated array: takes ownership of it, reads the required facts from device
/// memory, and makes the columns.
class array_import {
 public:
  explicit array_import(detail::import_call const& call)
    : call_{call}, source_{detail::open_source(call)}, copies_{call.options.copy}
  {
    if (!source_.exec.host) { find_facts(); }
    // Columns that are uploaded leave the producer's memory.
    if (call.options.borrow && !source_.to_upload) { owner_ = source_.share; }
  }

  array_import(array_import const&)            = delete;
  array_import& operator=(array_import const&) = delete;
  ~array_import()                              = default;

  imported_table table()
  {
    auto result     = imported_table{};
    result.num_rows = static_cast<cudf::size_type>(source_.root.length);
    result.columns.reserve(num_columns());
    for (std::size_t i = 0; i < num_columns(); ++i) {
      copies_.collect([&] { fill(result.columns.emplace_back(), plan(i)); });
    }
    copies_.check();
    if (source_.to_upload) {
      detail::upload(result.columns, call_.stream, call_.mr);
      for (auto& column : result.columns) {
        copies_.note(column.storage->view(), detail::copy_reason::upload);
        column.copied = copies_.take();
      }
    }
    return result;
  }

 private:
  [[nodiscard]] std::size_t num_columns() const
  { return call_.is_table ? call_.types.children.size() : 1; }

  /// Plans one column. The offset and the length of a table apply to each of its columns.
  [[nodiscard]] detail::import_level plan(std::size_t index) const
  {
    auto const& root = source_.root;
    if (!call_.is_table) {
      return {call_.types, root, choose_rows(call_.types, root, 0), call_.path};
    }
    auto const& types = call_.types.children[index];
    auto const& array = *root.children[index];
    return {types,
            array,
            choose_rows(types, array, root.offset),
            column_path{call_.path, types.schema->name}};
  }

  /// Leading rows are kept only to avoid copies, so columns to be uploaded keep none.
  [[nodiscard]] detail::row_range choose_rows(detail::parsed_tree const& types,
                                              ArrowArray const& array,
                                              std::int64_t begin) const
  {
    auto const size = source_.root.length;
    return source_.to_upload ? detail::row_range{array.offset + begin, size, 0}
                             : detail::choose_rows(types, array, begin, size, source_.exec);
  }

  void find_facts()
  {
    auto planned = std::vector<detail::import_level>{};
    for (std::size_t i = 0; i < num_columns(); ++i) { planned.push_back(plan(i)); }
    auto const root = detail::import_level{call_.types, source_.root, {}, call_.path};
    facts_          = detail::read_device_facts(
      planned, call_.is_table ? &root : nullptr, call_.options.sanitize, source_.exec);
    if (call_.is_table) {
      check_no_null_rows(detail::find_facts(facts_, call_.types)->null_count, call_.path);
    }
  }

  /// Borrows a column if this is wanted and possible, otherwise creates it.
  void fill(imported_column& column, detail::import_level const& planned)
  {
    auto const sanitize = call_.options.sanitize;
    auto const importer =
      detail::column_importer{source_.share, source_.exec, facts_, sanitize, copies_};
    if (owner_) {
      if (importer.borrow(planned, column)) {
        column.owner = owner_;
        return;
      }
      column = {};
    }
    column.storage = importer.column(planned);
    if (sanitize && !detail::is_clean(planned.types, facts_)) {
      column.storage =
        detail::sanitize(std::move(column.storage), copies_, planned.path, source_.exec);
    }
    column.offset = static_cast<cudf::size_type>(planned.rows.leading);
    column.size   = static_cast<cudf::size_type>(planned.rows.size);
    column.copied = copies_.take();
  }

  detail::import_call const& call_;
  detail::source_array source_;
  detail::import_facts facts_;         ///< of device memory; host memory is read when needed
  detail::copy_log copies_;            ///< of all columns
  std::shared_ptr<void const> owner_;  ///< of borrowed columns; null: none is borrowed
};

/// Imports an array as a table, or as a table of one column.
imported_table import(detail::import_call const& call)
{
  validate(call);
  return array_import{call}.table();
}

}  // namespace

cudf::column_view imported_column::view() const
{
  if (storage == nullptr) { return borrowed; }
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
  auto const top   = column_path{};
  auto const path  = column_path{top, schema.release == nullptr ? nullptr : schema.name};
  auto const types = detail::parse_types(schema, path);
  auto result      = import({types, false, array, options, path, stream, mr});
  return std::move(result.columns.front());
}

imported_table from_arrow_device_table(ArrowSchema const& schema,
                                       ArrowDeviceArray* array,
                                       import_options const& options,
                                       cuda::stream_ref stream,
                                       rmm::device_async_resource_ref mr)
{
  detail::nvtx_range const range{__func__};
  auto const top   = column_path{};
  auto const types = detail::parse_types(schema, top);
  return import({types, true, array, options, top, stream, mr});
}

struct array_importer::state {
  explicit state(ArrowSchema const& schema) : handle{copy_schema(schema)} {}

  shared_schema handle;
  ArrowSchema const& held{detail::schema_access::struct_of(handle)};
  column_path top;
  column_path path{top, held.name};
  // The name of a struct may be the name of a table, such as duckdb's "duckdb_query_result".
  detail::parsed_tree types{
    detail::parse_types(held, std::string_view{held.format} == "+s" ? top : path)};
};

array_importer::array_importer(ArrowSchema const& schema)
  : state_{std::make_shared<state const>(schema)}
{
}

shared_schema const& array_importer::schema() const noexcept { return state_->handle; }

bool array_importer::has_schema(ArrowSchema const& schema) const
{ return equal_schemas(state_->held, schema); }

void array_importer::check(ArrowDeviceArray* array, bool is_table) const
{
  auto const& path   = is_table ? state_->top : state_->path;
  auto const options = import_options{};
  validate({state_->types, is_table, array, options, path, cudaStream_t{}, host_memory_resource()});
}

imported_table array_importer::import_array(ArrowDeviceArray* array,
                                            bool is_table,
                                            import_options const& options,
                                            cuda::stream_ref stream,
                                            rmm::device_async_resource_ref mr) const
{
  detail::nvtx_range const range{__func__};
  auto const& path = is_table ? state_->top : state_->path;
  return import({state_->types, is_table, array, options, path, stream, mr});
}

}  // namespace cudf_arrow_bridge
