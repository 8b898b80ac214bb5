// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "schema_tree.hpp"

#include <cudf_arrow_bridge/schema.hpp>
#include <cudf_arrow_bridge/types.hpp>

#include <cudf/dictionary/dictionary_column_view.hpp>
#include <cudf/strings/strings_column_view.hpp>

#include <nanoarrow/nanoarrow.hpp>

#include <new>
#include <span>

namespace cudf_arrow_bridge {
namespace {

/// nanoarrow's builder fails only where memory does, or for metadata beyond 2 GiB.
void check(ArrowErrorCode code)
{
  if (code == ENOMEM) { throw std::bad_alloc{}; }
  if (code != NANOARROW_OK) {
    throw std::invalid_argument{"nanoarrow refused a schema's metadata"};
  }
}

std::string packed(key_value_metadata const& metadata)
{
  if (metadata.empty()) { return {}; }
  nanoarrow::UniqueBuffer buffer;
  check(ArrowMetadataBuilderInit(buffer.get(), nullptr));
  for (auto const& [key, value] : metadata) {
    check(ArrowMetadataBuilderAppend(buffer.get(),
                                     {key.data(), static_cast<int64_t>(key.size())},
                                     {value.data(), static_cast<int64_t>(value.size())}));
  }
  return {reinterpret_cast<char const*>(buffer->data),
          static_cast<std::size_t>(buffer->size_bytes)};
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

/// Fills the nodes of a tree from columns and their metadata.
class schema_builder {
 public:
  explicit schema_builder(std::size_t num_columns)
  {
    tree_->nodes.reserve(num_columns + 1);
    add_nodes(1);
  }

  void set_column(cudf::column_view const& column,
                  column_metadata const& metadata,
                  column_path const& path)
  { fill(0, column, metadata, path); }

  void set_table(std::span<cudf::column_view const> columns,
                 std::vector<column_metadata> const& fields,
                 key_value_metadata const& metadata)
  {
    auto& root    = tree_->nodes.front();
    root.format   = "+s";
    root.metadata = packed(metadata);
    fill_children(0, columns, fields, cudf::type_id::STRUCT, column_path{});
  }

  [[nodiscard]] std::shared_ptr<detail::schema_tree const> build() && { return std::move(tree_); }

 private:
  /// Appends nodes that stand side by side.
  std::size_t add_nodes(std::size_t count)
  {
    auto const first = tree_->nodes.size();
    tree_->nodes.resize(first + count);
    return first;
  }

  void fill(std::size_t index,
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
    auto& node    = tree_->nodes[index];  // until nodes are added
    node.name     = metadata.name;
    node.metadata = packed(metadata.metadata);
    node.flags    = metadata.nullable ? ARROW_FLAG_NULLABLE : 0;
    if (column.type().id() == cudf::type_id::DICTIONARY32) {
      auto const indices = column.child(cudf::dictionary_column_view::indices_column_index);
      node.format        = export_row(indices.type().id()).format;
      node.flags |= metadata.ordered ? ARROW_FLAG_DICTIONARY_ORDERED : 0;
      auto const values              = add_nodes(1);
      tree_->nodes[index].dictionary = values;
      fill(values,
           children.front(),
           metadata.children.empty() ? column_metadata{} : metadata.children.front(),
           path);
      return;
    }
    node.format = format_of(column, metadata, path);
    if (!children.empty()) {
      fill_children(index, children, metadata.children, column.type().id(), path);
    }
  }

  void fill_children(std::size_t parent,
                     std::span<cudf::column_view const> children,
                     std::vector<column_metadata> const& metadata,
                     cudf::type_id parent_type,
                     column_path const& path)
  {
    auto const first                  = add_nodes(children.size());
    tree_->nodes[parent].first_child  = first;
    tree_->nodes[parent].num_children = children.size();
    auto unnamed                      = column_metadata{};
    for (std::size_t i = 0; i < children.size(); ++i) {
      auto const known = i < metadata.size();
      if (!known) {
        unnamed.name = parent_type == cudf::type_id::LIST ? "item" : std::to_string(i);
      }
      auto const& child = known ? metadata[i] : unnamed;
      fill(first + i,
           children[i],
           child,
           column_path{path, parent_type == cudf::type_id::LIST ? "[]" : child.name.c_str()});
    }
  }

  std::shared_ptr<detail::schema_tree> tree_{std::make_shared<detail::schema_tree>()};
};

}  // namespace

unique_schema shared_schema::to_arrow() const
{
  if (tree_ == nullptr) { throw std::invalid_argument{"there is no schema"}; }
  unique_schema schema;
  detail::struct_block<ArrowSchema>::write(*schema.get(), tree_, 0);
  return schema;
}

shared_schema make_schema(cudf::column_view const& column, column_metadata const& metadata)
{
  auto builder   = schema_builder{0};
  auto const top = column_path{};
  builder.set_column(column, metadata, column_path{top, metadata.name.c_str()});
  return shared_schema{std::move(builder).build()};
}

shared_schema make_schema(cudf::table_view const& table,
                          std::vector<column_metadata> const& columns,
                          key_value_metadata const& metadata)
{
  auto const views = std::span<cudf::column_view const>{table.begin(), table.end()};
  if (columns.size() > views.size()) {
    throw std::invalid_argument{"metadata of " + std::to_string(columns.size()) +
                                " columns found, at most " + std::to_string(views.size()) +
                                " expected"};
  }
  auto builder = schema_builder{views.size()};
  builder.set_table(views, columns, metadata);
  return shared_schema{std::move(builder).build()};
}

unique_schema to_arrow_schema(cudf::column_view const& column, column_metadata const& metadata)
{ return make_schema(column, metadata).to_arrow(); }

unique_schema to_arrow_schema(cudf::table_view const& table,
                              std::vector<column_metadata> const& columns,
                              key_value_metadata const& metadata)
{ return make_schema(table, columns, metadata).to_arrow(); }

}  // namespace cudf_arrow_bridge
