// SPDX-License-Identifier: Apache-2.0
#include "base/nvtx.hpp"
#include "base/structure.hpp"
#include "schema/negotiate.hpp"
#include "schema/schema_builder.hpp"
#include "schema/schema_structs.hpp"
#include "schema/schema_tree.hpp"

#include <cudf_arrow_bridge/schema.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cudf_arrow_bridge {
namespace {

using detail::schema_source;

/// No pointer in a foreign schema is used before this check.
void check_schema(ArrowSchema const& schema, schema_source source, column_path const& path)
{
  try {
    detail::check_structure(schema, path);
  } catch (std::invalid_argument const& error) {
    throw std::invalid_argument{detail::in_schema(source, error)};
  }
}

void check_request(ArrowSchema const* requested)
{
  if (requested != nullptr) { check_schema(*requested, schema_source::requested, column_path{}); }
}

/// Checks the schemas that a column and its children were imported with. A child's is mostly part
/// of its parent's, and then checked with it.
/// @param checked The part of the parent's schema for this column; null: none
void check_origins(column_metadata const& metadata,
                   ArrowSchema const* checked,
                   column_path const& path)
{
  auto const* origin = metadata.origin;
  if (origin != nullptr && origin != checked) {
    check_schema(*origin, schema_source::imported, path);
  }
  for (std::size_t i = 0; i < metadata.children.size(); ++i) {
    auto const& child  = metadata.children[i];
    auto const* values = origin == nullptr ? nullptr : origin->dictionary;
    auto const* below =
      values != nullptr ? values : detail::child_schema(origin, static_cast<std::int64_t>(i));
    check_origins(child, below, column_path{path, child.name.c_str()});
  }
}

/// The schema of a record batch is a struct, with a field for each column.
void check_table_request(cudf::table_view const& table, ArrowSchema const* requested)
{
  if (requested == nullptr) { return; }
  if (std::string_view{requested->format} != "+s") {
    throw std::invalid_argument{
      "expected a requested schema of a table, got a type that is not a struct"};
  }
  if (requested->n_children != table.num_columns()) {
    throw std::invalid_argument{"expected a requested schema of " +
                                std::to_string(table.num_columns()) + " fields, got " +
                                std::to_string(requested->n_children)};
  }
}

}  // namespace

unique_schema shared_schema::to_arrow() const
{
  detail::nvtx_range const range{__func__};
  if (tree_ == nullptr) { throw std::invalid_argument{"expected a schema, got an empty handle"}; }
  unique_schema schema;
  detail::copy_struct(*tree_->schema.get(), *schema.get());
  return schema;
}

shared_schema make_schema(cudf::column_view const& column,
                          column_metadata const& metadata,
                          ArrowSchema const* requested)
{
  detail::nvtx_range const range{__func__};
  check_request(requested);
  auto const top = column_path{};
  check_origins(metadata, nullptr, column_path{top, metadata.name.c_str()});
  return shared_schema{detail::build_column_schema(column, metadata, requested)};
}

shared_schema make_schema(cudf::table_view const& table,
                          std::vector<column_metadata> const& columns,
                          key_value_metadata const& metadata,
                          ArrowSchema const* requested)
{
  detail::nvtx_range const range{__func__};
  auto const views = std::span<cudf::column_view const>{table.begin(), table.end()};
  if (columns.size() > views.size()) {
    throw std::invalid_argument{"expected metadata of at most " + std::to_string(views.size()) +
                                " columns, got " + std::to_string(columns.size())};
  }
  check_request(requested);
  check_table_request(table, requested);
  auto const top = column_path{};
  for (auto const& column : columns) {
    check_origins(column, nullptr, column_path{top, column.name.c_str()});
  }
  return shared_schema{detail::build_table_schema(views, columns, metadata, requested)};
}

unique_schema to_arrow_schema(cudf::column_view const& column, column_metadata const& metadata)
{ return make_schema(column, metadata).to_arrow(); }

unique_schema to_arrow_schema(cudf::table_view const& table,
                              std::vector<column_metadata> const& columns,
                              key_value_metadata const& metadata)
{ return make_schema(table, columns, metadata).to_arrow(); }

}  // namespace cudf_arrow_bridge
