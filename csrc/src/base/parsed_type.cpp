// SPDX-License-Identifier: Apache-2.0
#include "base/parsed_type.hpp"

#include <nanoarrow/nanoarrow.h>

#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cudf_arrow_bridge::detail {
namespace {

using cudf::type_id;

array_layout layout_of(ArrowSchemaView const& view)
{
  switch (view.type) {
    case NANOARROW_TYPE_NA: return array_layout::null;
    case NANOARROW_TYPE_STRING:
    case NANOARROW_TYPE_BINARY: return array_layout::string32;
    case NANOARROW_TYPE_LARGE_STRING:
    case NANOARROW_TYPE_LARGE_BINARY: return array_layout::string64;
    case NANOARROW_TYPE_LIST:
    case NANOARROW_TYPE_MAP: return array_layout::offsets32;
    case NANOARROW_TYPE_LARGE_LIST: return array_layout::offsets64;
    case NANOARROW_TYPE_FIXED_SIZE_LIST: return array_layout::fixed_lists;
    case NANOARROW_TYPE_STRUCT: return array_layout::validity;
    case NANOARROW_TYPE_STRING_VIEW:
    case NANOARROW_TYPE_BINARY_VIEW: return array_layout::views;
    case NANOARROW_TYPE_LIST_VIEW: return array_layout::list_views32;
    case NANOARROW_TYPE_LARGE_LIST_VIEW: return array_layout::list_views64;
    case NANOARROW_TYPE_RUN_END_ENCODED: return array_layout::runs;
    default: return array_layout::fixed;
  }
}

/// nanoarrow truncates numbers in a format string to 32 bits and accepts, for example, negative
/// list sizes.
/// @return Whether the parameters that nanoarrow parsed are those of the format string, and in
/// range
bool has_plain_parameters(ArrowSchemaView const& view)
{
  auto const format = std::string_view{view.schema->format};
  switch (view.storage_type) {
    case NANOARROW_TYPE_FIXED_SIZE_BINARY: return format == "w:" + std::to_string(view.fixed_size);
    case NANOARROW_TYPE_FIXED_SIZE_LIST:
      return view.fixed_size >= 0 && format == "+w:" + std::to_string(view.fixed_size);
    case NANOARROW_TYPE_DECIMAL32:
    case NANOARROW_TYPE_DECIMAL64:
    case NANOARROW_TYPE_DECIMAL128:
    case NANOARROW_TYPE_DECIMAL256: {
      auto const plain =
        "d:" + std::to_string(view.decimal_precision) + "," + std::to_string(view.decimal_scale);
      // libcudf's scale is the negative of Arrow's, so its absolute value must fit an int.
      return view.decimal_precision > 0 &&
             view.decimal_precision <= max_precision(view.decimal_bitwidth) &&
             std::abs(std::int64_t{view.decimal_scale}) <= std::numeric_limits<int>::max() &&
             (format == plain || format == plain + "," + std::to_string(view.decimal_bitwidth));
    }
    default: return true;
  }
}

}  // namespace

parsed_type parse_type(ArrowSchema const& schema)
{
  // nanoarrow rejects fixed_size_binary[0], which the specification allows.
  if (schema.format == std::string_view{"w:0"} && schema.dictionary == nullptr &&
      schema.n_children == 0) {
    auto const* row = find_type_named("fixed_size_binary");
    return {row, cudf::data_type{row->column}, array_layout::fixed, 0, 0};
  }
  // nanoarrow rejects unknown flags.
  auto known  = schema;
  known.flags = flags_of(schema);
  ArrowSchemaView view{};
  ArrowError error;  // 1 KiB; ArrowErrorInit clears only the required part
  ArrowErrorInit(&error);
  if (ArrowSchemaViewInit(&view, &known, &error) != NANOARROW_OK) {
    throw std::invalid_argument{ArrowErrorMessage(&error)};
  }
  if (!has_plain_parameters(view)) {
    throw std::invalid_argument{"parameters out of range in the format string '" +
                                std::string{schema.format} + "'"};
  }
  auto const format = std::string_view{schema.format};
  // nanoarrow also accepts dates and times as indices, because they are stored as integers.
  if (schema.dictionary != nullptr && std::string_view{"cCsSiIlL"}.find(format) == format.npos) {
    throw std::invalid_argument{
      "the indices of a dictionary must be integers, and their format is '" + std::string{format} +
      "'"};
  }
  auto const decimal   = format.starts_with("d:");
  auto const extension = std::string_view{view.extension_name.data,
                                          static_cast<std::size_t>(view.extension_name.size_bytes)};
  auto const* row = schema.dictionary != nullptr ? find_type_named("dictionary")
                    : decimal ? find_type_named("decimal" + std::to_string(view.decimal_bitwidth))
                    : format == "c" && extension == bool8_name ? find_type_named("bool8")
                                                               : find_type_of_format(format);
  if (row == nullptr) {
    throw std::invalid_argument{"unknown Arrow format string '" + std::string{format} + "'"};
  }
  auto const is_decimal_column = decimal && row->column != type_id::EMPTY;
  return {row,
          is_decimal_column ? cudf::data_type{row->column, -view.decimal_scale}
                            : cudf::data_type{row->column},
          layout_of(view),
          view.layout.element_size_bits[1],
          view.layout.child_size_elements,
          view.decimal_precision};
}

bool is_list_format(std::string_view format)
{
  return format.size() > 1 && format[0] == '+' && format[1] != 's' && format[1] != 'u' &&
         format[1] != 'r';
}

char const* name_of_child(ArrowSchema const& schema, std::int64_t child)
{ return is_list_format(schema.format) ? "[]" : schema.children[child]->name; }

std::int64_t flags_of(ArrowSchema const& schema)
{
  auto flags = std::int64_t{ARROW_FLAG_NULLABLE};
  if (schema.dictionary != nullptr) { flags |= ARROW_FLAG_DICTIONARY_ORDERED; }
  if (schema.format != nullptr && std::string_view{schema.format} == "+m") {
    flags |= ARROW_FLAG_MAP_KEYS_SORTED;
  }
  return schema.flags & flags;
}

cudf::type_id index_type(ArrowSchema const& schema)
{ return find_type_of_format(schema.format)->column; }

}  // namespace cudf_arrow_bridge::detail
