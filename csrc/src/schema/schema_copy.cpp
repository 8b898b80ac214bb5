// SPDX-License-Identifier: Apache-2.0
#include "base/errors.hpp"
#include "base/nvtx.hpp"
#include "base/parsed_type.hpp"
#include "schema/schema_structs.hpp"
#include "schema/schema_tree.hpp"
#include "validate/validate.hpp"

#include <cudf_arrow_bridge/schema.hpp>

#include <nanoarrow/nanoarrow.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cudf_arrow_bridge {
namespace {

using detail::schema_tree;

std::string_view text(char const* value) { return value == nullptr ? "" : value; }

/// Compares metadata. `other` is read only up to the first difference, so it need not be valid.
bool equal_metadata(char const* one, char const* other)
{
  if (one == nullptr || other == nullptr) { return one == other; }
  return std::equal(one, one + ArrowMetadataSizeOf(one), other, std::equal_to{});
}

/// Sets missing names to "" and clears unknown flags. The specification allows both, but some
/// consumers reject them.
void normalize(ArrowSchema& schema)
{
  if (schema.name == nullptr) { detail::set_name(schema, ""); }
  schema.flags = detail::flags_of(schema);
  for (std::int64_t i = 0; i < schema.n_children; ++i) { normalize(*schema.children[i]); }
  if (schema.dictionary != nullptr) { normalize(*schema.dictionary); }
}

std::string_view metadata_value(ArrowSchema const& schema, char const* key)
{
  auto value = ArrowStringView{nullptr, 0};
  if (schema.metadata != nullptr) {
    (void)ArrowMetadataGetValue(schema.metadata, ArrowCharView(key), &value);
  }
  return {value.data, static_cast<std::size_t>(value.size_bytes)};
}

void check_same(std::string_view what,
                std::string_view expected,
                std::string_view found,
                column_path const& path)
{
  if (expected == found) { return; }
  fail_invalid(path,
               "expected " + std::string{what} + " '" + std::string{expected} +
                 "' by the stream's schema, got '" + std::string{found} + "'");
}

/// @return The type at the top of a schema that has passed `check_traversable`, such as "int64"
std::string type_name(ArrowSchema const& schema)
{
  auto text       = std::array<char, 128>{};
  auto const size = ArrowSchemaToString(&schema, text.data(), std::ssize(text), 0);
  return {text.data(), static_cast<std::size_t>(std::min(size, std::ssize(text) - 1))};
}

/// Compares a level of a batch's schema with the stream's, and the levels below. Names and flags
/// are compared only below the top level.
void check_level(ArrowSchema const& expected,
                 ArrowSchema const& found,
                 bool any_nullability,
                 column_path const& path)
{
  if (std::string_view{expected.format} != found.format) {
    auto const hint =
      expected.format == std::string_view{"n"} ? " (request its type with requested_schema)" : "";
    check_same("the Arrow type", type_name(expected), type_name(found) + hint, path);
  }
  for (auto const* key : detail::extension_keys) {
    check_same(key, metadata_value(expected, key), metadata_value(found, key), path);
  }
  if (expected.n_children != found.n_children) {
    check_same("a number of children of",
               std::to_string(expected.n_children),
               std::to_string(found.n_children),
               path);
  }
  for (std::int64_t i = 0; i < expected.n_children; ++i) {
    auto const& field      = *expected.children[i];
    auto const& other      = *found.children[i];
    auto const field_path  = column_path{path, detail::name_of_child(expected, i)};
    auto const flags       = detail::flags_of(field);
    auto const found_flags = detail::flags_of(other);
    auto const other_flags = flags ^ found_flags;
    check_same("the name", text(field.name), text(other.name), field_path);
    if ((other_flags & ~ARROW_FLAG_NULLABLE) != 0) {
      check_same("the flags", std::to_string(flags), std::to_string(found_flags), field_path);
    }
    if (!any_nullability && (other_flags & found_flags & ARROW_FLAG_NULLABLE) != 0) {
      fail_invalid(field_path, "the column is nullable, and that of the stream's schema is not");
    }
    check_level(field, other, any_nullability, field_path);
  }
  if ((expected.dictionary == nullptr) != (found.dictionary == nullptr)) {
    fail_invalid(path,
                 found.dictionary == nullptr
                   ? "the values are not dictionary-encoded, unlike those of the stream's schema"
                   : "the values are dictionary-encoded, unlike those of the stream's schema");
  }
  if (expected.dictionary != nullptr) {
    check_level(*expected.dictionary, *found.dictionary, any_nullability, path);
  }
}

}  // namespace

unique_schema shared_schema::to_arrow() const
{
  detail::nvtx_range const range{__func__};
  unique_schema schema;
  detail::copy_struct(detail::schema_access::struct_of(*this), *schema.get());
  return schema;
}

bool shared_schema::is_table() const
{
  auto const& schema = detail::schema_access::struct_of(*this);
  return std::string_view{schema.format} == "+s" && (schema.flags & ARROW_FLAG_NULLABLE) == 0;
}

unique_schema to_arrow_schema(cudf::column_view const& column, column_metadata const& metadata)
{ return make_schema(column, metadata).to_arrow(); }

unique_schema to_arrow_schema(cudf::table_view const& table,
                              std::vector<column_metadata> const& columns,
                              key_value_metadata const& metadata)
{ return make_schema(table, columns, metadata).to_arrow(); }

shared_schema copy_schema(ArrowSchema const& schema)
{
  detail::check_traversable(schema, nullptr, column_path{});
  auto tree = std::make_shared<schema_tree>();
  detail::copy_struct(schema, *tree->schema.get());
  normalize(*tree->schema.get());
  return shared_schema{std::move(tree)};
}

void check_same_schema(ArrowSchema const& expected, ArrowSchema const& found, bool any_nullability)
{
  detail::check_traversable(found, nullptr, column_path{});
  check_level(expected, found, any_nullability, column_path{});
}

bool equal_schemas(ArrowSchema const& one, ArrowSchema const& other)
{
  // A released schema has no strings to read.
  if (other.release == nullptr || text(one.format) != text(other.format) ||
      text(one.name) != text(other.name) || detail::flags_of(one) != detail::flags_of(other) ||
      one.n_children != other.n_children ||
      (one.dictionary == nullptr) != (other.dictionary == nullptr) ||
      !equal_metadata(one.metadata, other.metadata)) {
    return false;
  }
  if (one.n_children > 0 && other.children == nullptr) { return false; }
  for (std::int64_t i = 0; i < one.n_children; ++i) {
    auto const* child = other.children[i];
    if (child == nullptr || !equal_schemas(*one.children[i], *child)) { return false; }
  }
  return one.dictionary == nullptr || equal_schemas(*one.dictionary, *other.dictionary);
}

}  // namespace cudf_arrow_bridge
