// SPDX-License-Identifier: Apache-2.0
#include "schema/schema_structs.hpp"

#include "base/errors.hpp"
#include "base/parsed_type.hpp"
#include "schema/negotiate.hpp"

#include <nanoarrow/nanoarrow.hpp>

#include <algorithm>
#include <iterator>
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

void copy_struct(ArrowSchema const& source, ArrowSchema& target)
{ check(ArrowSchemaDeepCopy(&source, &target)); }

namespace {

void check_metadata(ArrowErrorCode code) { check_nanoarrow(code, "a schema's metadata"); }

}  // namespace

void set_metadata(ArrowSchema& schema, key_value_metadata const& metadata)
{
  if (metadata.empty()) { return; }
  nanoarrow::UniqueBuffer buffer;
  check_metadata(ArrowMetadataBuilderInit(buffer.get(), nullptr));
  for (auto const& [key, value] : metadata) {
    check_metadata(ArrowMetadataBuilderAppend(buffer.get(),
                                              {key.data(), static_cast<int64_t>(key.size())},
                                              {value.data(), static_cast<int64_t>(value.size())}));
  }
  check_metadata(ArrowSchemaSetMetadata(&schema, reinterpret_cast<char const*>(buffer->data)));
}

namespace {

/// Parses the packed metadata of an `ArrowSchema`.
key_value_metadata parse_metadata(char const* metadata)
{
  auto result = key_value_metadata{};
  auto reader = ArrowMetadataReader{};
  check_metadata(ArrowMetadataReaderInit(&reader, metadata));
  ArrowStringView key;
  ArrowStringView value;
  while (reader.remaining_keys > 0) {
    check_metadata(ArrowMetadataReaderRead(&reader, &key, &value));
    result.emplace_back(std::string{key.data, static_cast<std::size_t>(key.size_bytes)},
                        std::string{value.data, static_cast<std::size_t>(value.size_bytes)});
  }
  return result;
}

bool is_extension(std::pair<std::string, std::string> const& entry)
{
  return std::find(extension_keys.begin(), extension_keys.end(), entry.first) !=
         extension_keys.end();
}

void append_if(key_value_metadata& target, key_value_metadata const& source, bool extension)
{
  std::copy_if(source.begin(), source.end(), std::back_inserter(target), [=](auto const& entry) {
    return is_extension(entry) == extension;
  });
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
  auto const keep = agreed.kept && !agreed.changed;
  if (wanted == nullptr && keep) {
    set_metadata(schema, own);
    return;
  }
  auto result = key_value_metadata{};
  append_if(result, requested.empty() ? own : requested, false);
  if (has_extension(requested) && agreed.met) {
    if (std::none_of(requested.begin(), requested.end(), names_no_extension)) {
      append_if(result, requested, true);
    }
  } else if (keep) {
    append_if(result, own, true);
  }
  set_metadata(schema, result);
}

}  // namespace cudf_arrow_bridge::detail
