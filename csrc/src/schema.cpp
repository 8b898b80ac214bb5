// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include <cudf_arrow_bridge/schema.hpp>
#include <cudf_arrow_bridge/types.hpp>

#include <cudf/dictionary/dictionary_column_view.hpp>
#include <cudf/strings/strings_column_view.hpp>

#include <nanoarrow/nanoarrow.hpp>

#include <new>

namespace cudf_arrow_bridge {
namespace {

/// nanoarrow's builders fail only where memory does, once their arguments have been checked.
void check(ArrowErrorCode code)
{
  if (code == ENOMEM) { throw std::bad_alloc{}; }
  if (code != NANOARROW_OK) { throw std::invalid_argument{"nanoarrow refused a schema's content"}; }
}

void set_metadata(ArrowSchema* schema, key_value_metadata const& metadata)
{
  if (metadata.empty()) { return; }
  nanoarrow::UniqueBuffer packed;
  check(ArrowMetadataBuilderInit(packed.get(), nullptr));
  for (auto const& [key, value] : metadata) {
    check(ArrowMetadataBuilderAppend(packed.get(),
                                     {key.data(), static_cast<int64_t>(key.size())},
                                     {value.data(), static_cast<int64_t>(value.size())}));
  }
  check(ArrowSchemaSetMetadata(schema, reinterpret_cast<char const*>(packed->data)));
}

bool has_large_offsets(cudf::column_view const& column)
{
  return column.type().id() == cudf::type_id::STRING && column.num_children() > 0 &&
         column.child(cudf::strings_column_view::offsets_column_index).type().id() ==
           cudf::type_id::INT64;
}

std::string decimal_format(cudf::column_view const& column,
                           column_metadata const& metadata,
                           column_path const& path)
{
  auto const width         = static_cast<int>(cudf::size_of(column.type())) * 8;
  auto const max_precision = width == 32 ? 9 : width == 64 ? 18 : 38;
  if (metadata.precision < 0 || metadata.precision > max_precision) {
    fail_invalid(path,
                 "precision " + std::to_string(metadata.precision) + " found, at most " +
                   std::to_string(max_precision) + " expected for a decimal of " +
                   std::to_string(width) + " bits");
  }
  auto const precision = metadata.precision == 0 ? max_precision : metadata.precision;
  auto format = "d:" + std::to_string(precision) + "," + std::to_string(-column.type().scale());
  // 128 bits are the specification's default and understood by every consumer without a width.
  return width == 128 ? format : format + "," + std::to_string(width);
}

std::string format_of(cudf::column_view const& column,
                      column_metadata const& metadata,
                      column_path const& path)
{
  auto const& row = export_row(column.type().id(), has_large_offsets(column));
  auto format     = std::string{row.format};
  if (format == "d:") { return decimal_format(column, metadata, path); }
  if (format.ends_with(':')) { format += metadata.timezone; }
  return format;
}

/// The children that Arrow's schema has, which are not always libcudf's.
std::vector<cudf::column_view> arrow_children(cudf::column_view const& column,
                                              column_path const& path)
{
  switch (column.type().id()) {
    case cudf::type_id::LIST:
      if (column.num_children() != 2) { fail_invalid(path, "a LIST column without its element"); }
      return {column.child(1)};
    case cudf::type_id::STRUCT: return {column.child_begin(), column.child_end()};
    case cudf::type_id::DICTIONARY32:
      if (column.num_children() != 2) { fail_invalid(path, "a DICTIONARY32 column without keys"); }
      return {column.child(cudf::dictionary_column_view::keys_column_index)};
    default: return {};
  }
}

void fill(ArrowSchema* schema,
          cudf::column_view const& column,
          column_metadata const& metadata,
          column_path const& path);

void fill_children(ArrowSchema* schema,
                   std::vector<cudf::column_view> const& children,
                   std::vector<column_metadata> const& metadata,
                   cudf::type_id parent,
                   column_path const& path)
{
  check(ArrowSchemaAllocateChildren(schema, static_cast<int64_t>(children.size())));
  for (std::size_t i = 0; i < children.size(); ++i) {
    auto default_metadata = column_metadata{};
    if (i >= metadata.size()) {
      default_metadata.name = parent == cudf::type_id::LIST ? "item" : std::to_string(i);
    }
    auto const& child = i < metadata.size() ? metadata[i] : default_metadata;
    ArrowSchemaInit(schema->children[i]);
    fill(schema->children[i],
         children[i],
         child,
         column_path{path, parent == cudf::type_id::LIST ? "[]" : child.name});
  }
}

void fill(ArrowSchema* schema,
          cudf::column_view const& column,
          column_metadata const& metadata,
          column_path const& path)
{
  auto const children = arrow_children(column, path);
  if (metadata.children.size() > children.size()) {
    fail_invalid(path,
                 "metadata of " + std::to_string(metadata.children.size()) +
                   " children found, at most " + std::to_string(children.size()) + " expected");
  }
  check(ArrowSchemaSetName(schema, metadata.name.c_str()));
  schema->flags = metadata.nullable ? ARROW_FLAG_NULLABLE : 0;
  set_metadata(schema, metadata.metadata);

  if (column.type().id() == cudf::type_id::DICTIONARY32) {
    auto const indices = column.child(cudf::dictionary_column_view::indices_column_index);
    check(ArrowSchemaSetFormat(schema, export_row(indices.type().id()).format.data()));
    if (metadata.ordered) { schema->flags |= ARROW_FLAG_DICTIONARY_ORDERED; }
    check(ArrowSchemaAllocateDictionary(schema));
    ArrowSchemaInit(schema->dictionary);
    fill(schema->dictionary,
         children.front(),
         metadata.children.empty() ? column_metadata{} : metadata.children.front(),
         path);
    return;
  }
  check(ArrowSchemaSetFormat(schema, format_of(column, metadata, path).c_str()));
  if (!children.empty()) {
    fill_children(schema, children, metadata.children, column.type().id(), path);
  }
}

}  // namespace

unique_schema to_arrow_schema(cudf::column_view const& column, column_metadata const& metadata)
{
  unique_schema schema;
  ArrowSchemaInit(schema.get());
  auto const top = column_path{};
  fill(schema.get(), column, metadata, column_path{top, metadata.name});
  return schema;
}

unique_schema to_arrow_schema(cudf::table_view const& table,
                              std::vector<column_metadata> const& columns,
                              key_value_metadata const& metadata)
{
  auto const views = std::vector<cudf::column_view>(table.begin(), table.end());
  if (columns.size() > views.size()) {
    throw std::invalid_argument{"metadata of " + std::to_string(columns.size()) +
                                " columns found, at most " + std::to_string(views.size()) +
                                " expected"};
  }
  unique_schema schema;
  ArrowSchemaInit(schema.get());
  check(ArrowSchemaSetFormat(schema.get(), "+s"));
  check(ArrowSchemaSetName(schema.get(), ""));
  set_metadata(schema.get(), metadata);
  fill_children(schema.get(), views, columns, cudf::type_id::STRUCT, column_path{});
  return schema;
}

unique_schema copy_schema(ArrowSchema const& schema)
{
  if (schema.release == nullptr) { throw std::invalid_argument{"the schema was released"}; }
  unique_schema copy;
  check(ArrowSchemaDeepCopy(&schema, copy.get()));
  return copy;
}

}  // namespace cudf_arrow_bridge
