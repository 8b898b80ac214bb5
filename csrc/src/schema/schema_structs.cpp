// SPDX-License-Identifier: Apache-2.0

#include "base/errors.hpp"
#include "base/nvtx.hpp"
#include "base/parsed_type.hpp"
#include "schema/negotiate.hpp"
#include "schema/schema_tree.hpp"
#include "validate/validate.hpp"

#include <nanoarrow/nanoarrow.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

void check(ArrowErrorCode code) { check_nanoarrow(code, "a schema"); }

}  // namespace

void set_type(ArrowSchema& schema, std::string const& format, std::int64_t num_children)
{
  if (format == "+m") {
    check(ArrowSchemaSetType(&schema, NANOARROW_TYPE_MAP));
  } else if (is_list_format(format)) {
    // Other lists have the child of a list. nanoarrow does not allow lists of fixed size 0.
    check(ArrowSchemaSetType(&schema, NANOARROW_TYPE_LIST));
    check(ArrowSchemaSetFormat(&schema, format.c_str()));
  } else if (format != "+s") {
    // The type table has the format strings of flat types, and a request those with its own
    // parameters. nanoarrow does not accept time zones of more than some 120 bytes.
    check(ArrowSchemaSetFormat(&schema, format.c_str()));
  } else if (schema.children == nullptr) {  // a map has already created the children of its entries
    check(ArrowSchemaSetTypeStruct(&schema, num_children));
  }
}

std::string decimal_format(cudf::data_type type, int precision)
{
  auto const bits   = bits_of(type);
  auto const format = "d:" + std::to_string(precision) + ',' + std::to_string(-type.scale());
  return bits == 128 ? format : format + ',' + std::to_string(bits);
}

void set_name(ArrowSchema& schema, std::string const& name)
{ check(ArrowSchemaSetName(&schema, name.c_str())); }

void add_dictionary(ArrowSchema& schema)
{
  check(ArrowSchemaAllocateDictionary(&schema));
  ArrowSchemaInit(schema.dictionary);
}

void set_metadata(ArrowSchema& schema, key_value_metadata const& metadata)
{
  if (metadata.empty()) { return; }
  nanoarrow::UniqueBuffer buffer;
  check(ArrowMetadataBuilderInit(buffer.get(), nullptr));
  for (auto const& [key, value] : metadata) {
    check(ArrowMetadataBuilderAppend(buffer.get(),
                                     {key.data(), static_cast<int64_t>(key.size())},
                                     {value.data(), static_cast<int64_t>(value.size())}));
  }
  check(ArrowSchemaSetMetadata(&schema, reinterpret_cast<char const*>(buffer->data)));
}

namespace {

bool is_extension(std::pair<std::string, std::string> const& entry)
{
  return std::find(extension_keys.begin(), extension_keys.end(), entry.first) !=
         extension_keys.end();
}

bool names_no_extension(std::pair<std::string, std::string> const& entry)
{ return entry.first == extension_keys.front() && entry.second.empty(); }

}  // namespace

bool has_extension(key_value_metadata const& metadata)
{ return std::any_of(metadata.begin(), metadata.end(), is_extension); }

void set_negotiated_metadata(ArrowSchema& schema,
                             key_value_metadata const& own,
                             ArrowSchema const* wanted,
                             negotiation_result const& agreed)
{
  auto const requested =
    wanted == nullptr ? key_value_metadata{} : parse_metadata(wanted->metadata);
  auto const keeps_own = agreed.kept && !agreed.changed;
  auto const is_met    = has_extension(requested) && agreed.met;
  auto const is_whole =
    requested.empty() ? keeps_own : is_met && std::ranges::none_of(requested, names_no_extension);
  auto result = requested.empty() ? own : requested;
  if (!is_whole) { std::erase_if(result, is_extension); }
  if (!is_whole && !is_met && keeps_own) {
    std::ranges::copy_if(own, std::back_inserter(result), is_extension);
  }
  set_metadata(schema, result);
}

}  // namespace cudf_arrow_bridge::detail

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
  check_same("a number of children of",
             std::to_string(expected.n_children),
             std::to_string(found.n_children),
             path);
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

key_value_metadata parse_metadata(char const* encoded)
{
  auto result = key_value_metadata{};
  auto reader = ArrowMetadataReader{};
  detail::check(ArrowMetadataReaderInit(&reader, encoded));
  ArrowStringView key;
  ArrowStringView value;
  while (reader.remaining_keys > 0) {
    detail::check(ArrowMetadataReaderRead(&reader, &key, &value));
    result.emplace_back(std::string{key.data, static_cast<std::size_t>(key.size_bytes)},
                        std::string{value.data, static_cast<std::size_t>(value.size_bytes)});
  }
  return result;
}

unique_schema shared_schema::to_arrow() const
{
  detail::nvtx_range const range{__func__};
  unique_schema schema;
  detail::check(ArrowSchemaDeepCopy(&detail::schema_access::struct_of(*this), schema.get()));
  return schema;
}

bool shared_schema::is_table() const
{
  auto const& schema = detail::schema_access::struct_of(*this);
  return std::string_view{schema.format} == "+s" && (schema.flags & ARROW_FLAG_NULLABLE) == 0;
}

shared_schema copy_schema(ArrowSchema const& schema)
{
  detail::check_traversable(schema, column_path{});
  auto tree = std::make_shared<schema_tree>();
  detail::check(ArrowSchemaDeepCopy(&schema, tree->schema.get()));
  normalize(*tree->schema.get());
  return detail::schema_access::handle(std::move(tree));
}

void check_same_schema(ArrowSchema const& expected, ArrowSchema const& found, bool any_nullability)
{
  detail::check_traversable(found, column_path{});
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
