// SPDX-License-Identifier: Apache-2.0
#include "schema/negotiate.hpp"

#include "base/child_column.hpp"
#include "base/parsed_type.hpp"
#include "schema/schema_tree.hpp"

#include <cudf_arrow_bridge/types.hpp>

#include <cudf/dictionary/dictionary_column_view.hpp>
#include <cudf/lists/lists_column_view.hpp>
#include <cudf/strings/strings_column_view.hpp>
#include <cudf/utilities/traits.hpp>

#include <algorithm>
#include <limits>
#include <string_view>

namespace cudf_arrow_bridge::detail {
namespace {

using cudf::type_id;

bool has_large_offsets(cudf::column_view const& column)
{
  return column.type().id() == type_id::STRING && column.num_children() > 0 &&
         child_of(column, cudf::strings_column_view::offsets_column_index).type().id() ==
           type_id::INT64;
}

int precision_of(cudf::data_type type, column_metadata const& metadata)
{ return metadata.precision == 0 ? max_precision(bits_of(type)) : metadata.precision; }

void check_precision(cudf::data_type type, column_metadata const& metadata, column_path const& path)
{
  auto const limit = max_precision(bits_of(type));
  if (metadata.precision < 0 || metadata.precision > limit) {
    fail_invalid(path,
                 "expected a precision of at most " + std::to_string(limit) + " for a decimal of " +
                   std::to_string(bits_of(type)) + " bits, got " +
                   std::to_string(metadata.precision));
  }
}

/// EMPTY is excluded first: `cudf::is_fixed_point` throws for it, as `cudf::is_timestamp` does.
bool holds_decimals(cudf::data_type type)
{ return type.id() != type_id::EMPTY && cudf::is_fixed_point(type); }

bool holds_timestamps(cudf::data_type type)
{ return type.id() != type_id::EMPTY && cudf::is_timestamp(type); }

std::optional<chosen_type> as_decimal(chosen_type result,
                                      column_metadata const& metadata,
                                      cudf::data_type wanted,
                                      int precision)
{
  auto& step = result.step;
  if (wanted.scale() != step.column.scale()) { return std::nullopt; }
  if (wanted.id() != step.column.id()) { step.cast = wanted; }
  if (precision < precision_of(step.column, metadata)) {
    step.check  = value_check::digits;
    step.digits = precision;
  }
  result.format     = decimal_format(wanted, precision);
  step.element_bits = bits_of(wanted);
  return result;
}

/// Timestamps without a time zone as date32 or date64.
std::optional<chosen_type> as_date(chosen_type result,
                                   column_metadata const& metadata,
                                   cudf::type_id wanted)
{
  auto& step = result.step;
  if (!metadata.timezone.empty()) { return std::nullopt; }
  if (wanted != step.column.id()) { step.cast = cudf::data_type{wanted}; }
  if (step.column.id() != type_id::TIMESTAMP_DAYS) { step.check = value_check::whole_days; }
  step.element_bits = bits_of(cudf::data_type{wanted});
  return result;
}

/// Whether a LIST can be exported as the Arrow type of a format: a map needs STRUCT elements of two
/// fields, a binary type needs UINT8 elements.
bool is_list_of(cudf::column_view const& column, array_layout layout, std::string_view format)
{
  if (column.num_children() != 2) { return false; }
  auto const element = child_of(column, cudf::lists_column_view::child_column_index);
  if (format == "+m") {
    return element.type().id() == type_id::STRUCT && element.num_children() == 2;
  }
  return has_lists(layout) || element.type().id() == type_id::UINT8;
}

/// A dictionary is requested with its values: other values than the requested ones are no
/// dictionary.
std::optional<chosen_type> as_dictionary(cudf::column_view const& column,
                                         column_metadata const& metadata,
                                         ArrowSchema const& wanted,
                                         schema_source source,
                                         column_path const& path)
{
  auto const id = column.type().id();
  if (id == type_id::EMPTY || id == type_id::LIST || id == type_id::STRUCT) { return std::nullopt; }
  auto const has_keys = id == type_id::DICTIONARY32;
  auto const values =
    has_keys ? child_of(column, cudf::dictionary_column_view::keys_column_index, path) : column;
  auto const& known = has_keys ? values_metadata(metadata) : metadata;
  if (source == schema_source::requested &&
      !negotiate(values, known, *wanted.dictionary, source, path)) {
    return std::nullopt;
  }
  auto result              = chosen_type{wanted.format, {.column = column.type()}};
  result.step.layout       = array_layout::fixed;
  result.step.index        = index_type(wanted);
  result.step.element_bits = bits_of(cudf::data_type{result.step.index});
  if (!has_keys) { result.step.cast = cudf::data_type{type_id::DICTIONARY32}; }
  return result;
}

parsed_type parse(ArrowSchema const& schema, schema_source source, column_path const& path)
{
  try {
    return parse_type(schema);
  } catch (std::invalid_argument const& error) {
    fail_invalid(path, in_schema(source, error));
  }
}

/// Whether a requested type and a column are both structs, both lists, or both neither. Binary
/// types are lists of bytes.
bool can_represent(ArrowSchema const& wanted,
                   cudf::column_view const& column,
                   column_path const& path)
{
  parse(wanted, schema_source::requested, path);
  auto const id     = column.type().id();
  auto const format = std::string_view{wanted.format};
  if (wanted.dictionary != nullptr) { return can_represent(*wanted.dictionary, column, path); }
  if (format == "+r") { return can_represent(*wanted.children[1], column, path); }
  if (id == type_id::DICTIONARY32) {
    return can_represent(
      wanted, child_of(column, cudf::dictionary_column_view::keys_column_index), path);
  }
  auto const is_nested = format.starts_with('+');
  if (id == type_id::EMPTY || format == "n" || format.starts_with("+u")) { return true; }
  if (id == type_id::STRUCT || format == "+s") { return id == type_id::STRUCT && format == "+s"; }
  return id == type_id::LIST ? is_nested || is_list_of(column, array_layout::string32, "z")
                             : !is_nested;
}

std::optional<chosen_type> decoded(cudf::column_view const& column,
                                   column_metadata const& metadata,
                                   ArrowSchema const& wanted,
                                   schema_source source,
                                   column_path const& path)
{
  auto const& keys = child_of(column, cudf::dictionary_column_view::keys_column_index, path);
  if (keys.type().id() == type_id::LIST || keys.type().id() == type_id::STRUCT ||
      keys.type().id() == type_id::DICTIONARY32) {
    return std::nullopt;
  }
  auto result = negotiate(keys, values_metadata(metadata), wanted, source, path);
  if (result) {
    result->step.column = column.type();
    result->step.decode = true;
    result->step.values = keys.type();
  }
  return result;
}

/// Whether the original index type can represent all keys. A dictionary may have gained keys since
/// its import, and encoded plain values may have as many keys as a column has rows.
bool holds_indices(cudf::column_view const& column, export_step const& step)
{
  if (step.index == type_id::EMPTY) { return true; }
  auto const keys = column.type().id() == type_id::DICTIONARY32
                      ? child_of(column, cudf::dictionary_column_view::keys_column_index).size()
                      : std::numeric_limits<cudf::size_type>::max();
  return keys <= max_keys(step.index);
}

}  // namespace

column_metadata const& values_metadata(column_metadata const& metadata)
{
  static auto const none = column_metadata{};
  return metadata.children.empty() ? none : metadata.children.front();
}

export_step plain_step(cudf::column_view const& column, column_path const& path)
{
  auto const type = column.type();
  auto step       = export_step{.column = type, .layout = array_layout::fixed};
  switch (type.id()) {
    case type_id::EMPTY: step.layout = array_layout::null; break;
    case type_id::STRING:
      step.layout = has_large_offsets(column) ? array_layout::string64 : array_layout::string32;
      break;
    case type_id::LIST: step.layout = array_layout::offsets32; break;
    case type_id::STRUCT: step.layout = array_layout::validity; break;
    case type_id::BOOL8: step.element_bits = 1; break;
    case type_id::DURATION_DAYS: step.element_bits = 64; break;  // Arrow counts them in seconds
    case type_id::DICTIONARY32: {
      constexpr auto indices = cudf::dictionary_column_view::indices_column_index;
      auto const index       = child_of(column, indices, path).type();
      step.index             = index.id();
      step.element_bits      = bits_of(index);
      break;
    }
    default: step.element_bits = bits_of(type);
  }
  return step;
}

chosen_type plain_type(cudf::column_view const& column,
                       column_metadata const& metadata,
                       column_path const& path)
{
  auto const type = column.type();
  auto result     = chosen_type{{}, plain_step(column, path)};
  if (type.id() == type_id::DICTIONARY32) {
    result.format = export_row(result.step.index).format;
    return result;
  }
  result.format = export_row(type.id(), has_large_offsets(column)).format;
  if (holds_decimals(type)) {
    check_precision(type, metadata, path);
    result.format = decimal_format(type, precision_of(type, metadata));
  } else if (result.format.ends_with(':')) {
    result.format += metadata.timezone;
  }
  return result;
}

std::string in_schema(schema_source source, std::exception const& error)
{
  auto const* whose = source == schema_source::requested ? "requested" : "imported";
  return std::string{"in the "} + whose + " schema: " + error.what();
}

std::optional<chosen_type> negotiate(cudf::column_view const& column,
                                     column_metadata const& metadata,
                                     ArrowSchema const& wanted,
                                     schema_source source,
                                     column_path const& path)
{
  auto const type   = parse(wanted, source, path);
  auto const& row   = *type.row;
  auto const format = std::string_view{wanted.format};
  auto const id     = column.type().id();
  if (id == type_id::STRUCT && row.column == type_id::STRUCT &&
      wanted.n_children != column.num_children()) {
    if (source == schema_source::imported) { return std::nullopt; }
    fail_invalid(path,
                 "expected a requested schema of " + std::to_string(column.num_children()) +
                   " fields, got " + std::to_string(wanted.n_children));
  }
  if (source == schema_source::requested && !can_represent(wanted, column, path)) {
    fail_invalid(path,
                 "the requested type " + std::string{row.arrow} +
                   " does not fit the column: structs, lists and flat values cannot be converted "
                   "to each other");
  }
  if (row.on_export == type_support::unsupported) { return std::nullopt; }
  if (wanted.dictionary != nullptr) {
    return as_dictionary(column, metadata, wanted, source, path);
  }
  if (id == type_id::DICTIONARY32) { return decoded(column, metadata, wanted, source, path); }

  auto result = chosen_type{std::string{format}, plain_type(column, metadata, path).step};
  if (holds_decimals(column.type()) && holds_decimals(type.column)) {
    return as_decimal(std::move(result), metadata, type.column, type.precision);
  }
  if (holds_timestamps(column.type()) && format.starts_with("td")) {
    return as_date(std::move(result), metadata, row.column);
  }
  if (row.column != id) { return std::nullopt; }
  if (holds_timestamps(column.type())) {
    // A timestamp without a zone is wall-clock time, and one with a zone is an instant, so they
    // cannot be converted to each other.
    auto const zone = format.substr(row.format.size());
    return zone.empty() == metadata.timezone.empty() ? std::optional{std::move(result)}
                                                     : std::nullopt;
  }
  result.step.layout       = type.layout;
  result.step.element_bits = type.element_bits;
  result.step.list_size    = type.list_size;
  if (format.starts_with("tt")) { result.step.check = value_check::time_of_day; }
  if (format.starts_with("w:") || format.starts_with("+w:")) { result.step.trusted = false; }
  auto const possible = id != type_id::LIST || is_list_of(column, type.layout, format);
  return possible ? std::optional{std::move(result)} : std::nullopt;
}

std::optional<chosen_type> restore(cudf::column_view const& column,
                                   column_metadata const& metadata,
                                   ArrowSchema const& origin,
                                   bool exact,
                                   column_path const& path)
{
  auto const is_string = column.type().id() == type_id::STRING;
  if (is_string && std::string_view{origin.format} == "n") {
    // cuDF frames have strings instead of the null type.
    if (column.null_count() < column.size()) { return std::nullopt; }
    return chosen_type{origin.format, {.column = column.type(), .layout = array_layout::null}};
  }
  // Runs and nested dictionaries are decoded. Their values keep their type.
  auto const* values = origin.format == std::string_view{"+r"}       ? child_schema(&origin, 1)
                       : column.type().id() == type_id::DICTIONARY32 ? nullptr
                                                                     : origin.dictionary;
  auto result        = negotiate(column, metadata, origin, schema_source::imported, path);
  if (!result || (result->step.layout == array_layout::views && !exact) ||
      !holds_indices(column, result->step)) {
    return values == nullptr ? std::nullopt : restore(column, metadata, *values, exact, path);
  }
  // A string column that was concatenated after its import may have more bytes than 32-bit offsets
  // can address.
  if (result->step.layout == array_layout::string32 && has_large_offsets(column)) {
    return std::nullopt;
  }
  result->step.check   = value_check::none;
  result->step.trusted = true;
  return result;
}

requested_types requested_types::below(cudf::type_id parent, bool is_map) const
{
  auto const matching = [=](ArrowSchema const* schema) {
    auto const format  = std::string_view{schema == nullptr ? "" : schema->format};
    auto const is_list = format == "+m" ? is_map : is_list_format(format);
    return (parent == type_id::STRUCT ? format == "+s" : is_list) ? schema : nullptr;
  };
  return {matching(wanted), matching(origin), exact};
}

std::int64_t max_keys(cudf::type_id index)
{
  auto const type = cudf::data_type{index};
  auto const bits = bits_of(type) - (cudf::is_signed(type) ? 1 : 0);
  return std::int64_t{1} << std::min<std::int64_t>(bits, 32);  // 2^32: more than a column has rows
}

ArrowSchema const* child_schema(ArrowSchema const* schema, std::int64_t index)
{ return schema == nullptr || index >= schema->n_children ? nullptr : schema->children[index]; }

}  // namespace cudf_arrow_bridge::detail
