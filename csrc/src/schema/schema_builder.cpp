// SPDX-License-Identifier: Apache-2.0
#include "base/child_column.hpp"
#include "base/errors.hpp"
#include "base/nvtx.hpp"
#include "cuda/location/location.hpp"
#include "schema/negotiate.hpp"
#include "schema/schema_tree.hpp"
#include "validate/validate.hpp"

#include <cudf_arrow_bridge/schema.hpp>

#include <cudf/dictionary/dictionary_column_view.hpp>
#include <cudf/lists/lists_column_view.hpp>

#include <nanoarrow/nanoarrow.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge {
namespace detail {
namespace {

/// The children of the Arrow schema, which may differ from those of the libcudf column.
std::vector<cudf::column_view> arrow_children(cudf::column_view const& column,
                                              column_path const& path)
{
  switch (column.type().id()) {
    case cudf::type_id::LIST:
      return {child_of(column, cudf::lists_column_view::child_column_index, path)};
    case cudf::type_id::STRUCT: return {column.child_begin(), column.child_end()};
    case cudf::type_id::DICTIONARY32:
      return {child_of(column, cudf::dictionary_column_view::keys_column_index, path)};
    default: return {};
  }
}

/// Empty for views of a column in device memory: views are created only on the CPU, because libcudf
/// has no public algorithm for them.
std::optional<chosen_type> without_views_on_device(std::optional<chosen_type> type,
                                                   cudf::column_view const& column)
{
  if (!type || type->step.layout != array_layout::views) { return type; }
  auto const location = locate_columns({&column, 1});
  return location.device_type == ARROW_DEVICE_CPU ? std::move(type) : std::nullopt;
}

/// Whether a type is that of a schema, and not that of its decoded values.
bool has_type_of(chosen_type const& type, ArrowSchema const& schema)
{
  auto const has_index = type.step.index != cudf::type_id::EMPTY;
  return type.format == schema.format && has_index == (schema.dictionary != nullptr);
}

/// Whether the keys of a map, or of the maps in a dictionary or in runs, are sorted.
bool has_sorted_keys(ArrowSchema const* schema)
{
  if (schema == nullptr) { return false; }
  if (schema->dictionary != nullptr) { return has_sorted_keys(schema->dictionary); }
  auto const format = std::string_view{schema->format};
  if (format == "+r") { return has_sorted_keys(schema->children[1]); }
  return format == "+m" && (schema->flags & ARROW_FLAG_MAP_KEYS_SORTED) != 0;
}

/// Makes one schema from columns, their metadata and a requested schema.
class schema_builder {
 public:
  schema_builder()
  {
    add_nodes(1);
    tree_->nodes.front().schema = tree_->schema.get();
    ArrowSchemaInit(tree_->schema.get());
  }

  shared_schema of_column(cudf::column_view const& column,
                          column_metadata const& metadata,
                          ArrowSchema const* wanted)
  {
    auto const top = column_path{};
    fill(0, column, metadata, {wanted, metadata.origin}, column_path{top, metadata.name.c_str()});
    return schema_access::handle(std::move(tree_));
  }

  shared_schema of_table(std::span<cudf::column_view const> columns,
                         std::vector<column_metadata> const& fields,
                         key_value_metadata const& metadata,
                         ArrowSchema const* wanted)
  {
    auto const top = column_path{};
    auto& root     = *tree_->schema.get();
    set_type(root, "+s", std::ssize(columns));
    set_name(root, "");
    root.flags        = 0;
    auto const agreed = fill_children(0, columns, fields, {wanted, nullptr}, top);
    set_negotiated_metadata(root, metadata, wanted, agreed);
    tree_->nodes.front().step = {.column = cudf::data_type{cudf::type_id::STRUCT},
                                 .layout = array_layout::validity};
    return schema_access::handle(std::move(tree_));
  }

 private:
  /// Appends sibling nodes.
  std::size_t add_nodes(std::size_t count)
  {
    auto const first = tree_->nodes.size();
    tree_->nodes.resize(first + count);
    return first;
  }

  /// Chooses a level's type: the requested type, otherwise the type of the import, otherwise the
  /// plain type.
  static std::pair<chosen_type, negotiation_result> choose(cudf::column_view const& column,
                                                           column_metadata const& metadata,
                                                           requested_types const& asked,
                                                           column_path const& path)
  {
    auto own    = plain_type(column, metadata, path);
    auto agreed = negotiation_result{};
    if (asked.origin != nullptr) {
      auto origin = without_views_on_device(
        restore(column, metadata, *asked.origin, asked.exact, path), column);
      agreed.kept = origin && has_type_of(*origin, *asked.origin);
      if (origin) { own = std::move(*origin); }
    }
    if (asked.wanted == nullptr) { return {std::move(own), agreed}; }
    auto wanted = without_views_on_device(
      negotiate(column, metadata, *asked.wanted, schema_source::requested, path), column);
    agreed.met = wanted.has_value();
    if (!wanted) { return {std::move(own), agreed}; }
    agreed.changed = wanted->format != own.format || wanted->step.decode != own.step.decode ||
                     wanted->step.index != own.step.index;
    return {std::move(agreed.changed ? *wanted : own), agreed};
  }

  negotiation_result fill(std::size_t index,
                          cudf::column_view const& column,
                          column_metadata const& metadata,
                          requested_types asked,
                          column_path const& path)
  {
    auto& schema        = *tree_->nodes[index].schema;
    auto const children = arrow_children(column, path);
    asked.exact         = asked.exact || has_extension(metadata.metadata);
    if (metadata.children.size() > children.size()) {
      fail_invalid(path,
                   "expected metadata of at most " + std::to_string(children.size()) +
                     " children, got " + std::to_string(metadata.children.size()));
    }
    auto [type, agreed] = choose(column, metadata, asked, path);
    // Arrow has no nulls in the entries and keys of maps; their parents are known here.
    auto const may_be_null = (schema.flags & ARROW_FLAG_NULLABLE) != 0;
    auto const nullable    = may_be_null && asked.is_nullable(metadata.nullable);
    if (!may_be_null) {
      type.step.nulls = null_rule::forbidden_by_map;
    } else if (!nullable && asked.wanted != nullptr) {
      type.step.nulls = null_rule::forbidden_by_request;
    }
    auto const step = type.step;
    set_type(schema, type.format, std::ssize(children));
    set_name(schema, std::string{asked.name(metadata.name)});
    schema.flags = nullable ? ARROW_FLAG_NULLABLE : 0;
    if (step.index != cudf::type_id::EMPTY && metadata.ordered) {
      schema.flags |= ARROW_FLAG_DICTIONARY_ORDERED;
    }
    if (type.format == "+m" && has_sorted_keys(asked.origin) &&
        (asked.wanted == nullptr || has_sorted_keys(asked.wanted))) {
      schema.flags |= ARROW_FLAG_MAP_KEYS_SORTED;
    }
    tree_->nodes[index].step = step;
    if (step.index != cudf::type_id::EMPTY) {
      agreed &= fill_dictionary(index, column, children, metadata, asked, path);
    } else if (step.layout == array_layout::validity || has_lists(step.layout)) {
      auto const below = asked.below(column.type().id(), type.format == "+m");
      agreed &= fill_children(index, children, metadata.children, below, path);
    }
    tree_->nodes[index].step.checks_below = checks_below(index);
    set_negotiated_metadata(schema, metadata.metadata, asked.wanted, agreed);
    return agreed;
  }

  [[nodiscard]] bool checks_below(std::size_t index) const
  {
    auto const& node = tree_->nodes[index];
    for (std::size_t i = 0; i < node.num_children; ++i) {
      auto const& step         = tree_->nodes[node.first_child + i].step;
      auto const checks_values = step.check != value_check::none || !step.trusted;
      if (step.forbids_nulls() || step.checks_below || checks_values) { return true; }
    }
    return false;
  }

  negotiation_result fill_dictionary(std::size_t index,
                                     cudf::column_view const& column,
                                     std::span<cudf::column_view const> children,
                                     column_metadata const& metadata,
                                     requested_types const& asked,
                                     column_path const& path)
  {
    auto const values = add_nodes(1);
    auto& schema      = *tree_->nodes[index].schema;
    add_dictionary(schema);
    tree_->nodes[index].dictionary = values;
    tree_->nodes[values].schema    = schema.dictionary;
    if (column.type().id() == cudf::type_id::DICTIONARY32) {
      auto below            = asked.dictionary();
      auto const& of_values = values_metadata(metadata);
      if (!metadata.children.empty()) { below.origin = of_values.origin; }
      return fill(values, children.front(), of_values, below, path);
    }
    auto const of_values =
      column_metadata{.timezone = metadata.timezone, .precision = metadata.precision};
    return fill(values, column, of_values, asked.dictionary(), path);
  }

  negotiation_result fill_children(std::size_t parent,
                                   std::span<cudf::column_view const> children,
                                   std::vector<column_metadata> const& metadata,
                                   requested_types const& asked,
                                   column_path const& path)
  {
    auto const first                  = add_nodes(children.size());
    tree_->nodes[parent].first_child  = first;
    tree_->nodes[parent].num_children = children.size();
    auto agreed                       = negotiation_result{};
    auto unnamed                      = column_metadata{};
    auto const& schema                = *tree_->nodes[parent].schema;
    auto const in_list                = has_lists(tree_->nodes[parent].step.layout);
    for (std::size_t i = 0; i < children.size(); ++i) {
      auto const known = i < metadata.size();
      auto* below      = schema.children[i];
      if (!known) { unnamed.name = below->name == nullptr ? std::to_string(i) : below->name; }
      auto const& child     = known ? metadata[i] : unnamed;
      auto const child_path = column_path{path, in_list ? "[]" : child.name.c_str()};
      auto asked_below      = asked.child(static_cast<std::int64_t>(i));
      if (known) { asked_below.origin = child.origin; }
      tree_->nodes[first + i].schema = below;
      agreed &= fill(first + i, children[i], child, asked_below, child_path);
      // Fields are matched by position, so a schema with a name at another position requests other
      // data.
      auto const name     = std::string_view{below->name};
      auto const is_moved = known && name != child.name &&
                            std::ranges::count(metadata, name, &column_metadata::name) > 0;
      if (is_moved) {
        fail_invalid(path,
                     "expected field '" + child.name + "' at position " + std::to_string(i) +
                       " of a requested schema, got '" + below->name + "'");
      }
    }
    return agreed;
  }

  std::shared_ptr<schema_tree> tree_{std::make_shared<schema_tree>()};
};

/// No pointer in a requested schema is used before this check.
void check_request(ArrowSchema const* requested)
{
  if (requested == nullptr) { return; }
  try {
    check_traversable(*requested, column_path{});
  } catch (std::invalid_argument const& error) {
    throw std::invalid_argument{in_schema(schema_source::requested, error)};
  }
}

/// The schema of a record batch is a struct, with a field for each column.
void check_table_request(cudf::table_view const& table, ArrowSchema const* requested)
{
  if (requested == nullptr) { return; }
  if (std::string_view{requested->format} != "+s") {
    throw std::invalid_argument{"the requested schema of a table must be a struct"};
  }
  if (requested->n_children != table.num_columns()) {
    throw std::invalid_argument{"expected a requested schema of " +
                                std::to_string(table.num_columns()) + " fields, got " +
                                std::to_string(requested->n_children)};
  }
}

}  // namespace
}  // namespace detail

shared_schema make_schema(cudf::column_view const& column,
                          column_metadata const& metadata,
                          ArrowSchema const* requested)
{
  detail::nvtx_range const range{__func__};
  detail::check_request(requested);
  return detail::schema_builder{}.of_column(column, metadata, requested);
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
  detail::check_request(requested);
  detail::check_table_request(table, requested);
  return detail::schema_builder{}.of_table(views, columns, metadata, requested);
}

}  // namespace cudf_arrow_bridge
