// SPDX-License-Identifier: Apache-2.0
#include "base/parsed_type.hpp"
#include "base/structure.hpp"

#include <cudf_arrow_bridge/types.hpp>

#include <cudf/utilities/error.hpp>

#include <nanoarrow/nanoarrow.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>

namespace cudf_arrow_bridge {
namespace {

using cudf::type_id;
using detail::array_layout;
using enum crossing;

constexpr auto rows = std::to_array<type_row>({
  {"null", "n", type_id::EMPTY, zero_copy, zero_copy, "no buffers"},
  {"int8", "c", type_id::INT8, zero_copy, zero_copy, ""},
  {"int16", "s", type_id::INT16, zero_copy, zero_copy, ""},
  {"int32", "i", type_id::INT32, zero_copy, zero_copy, ""},
  {"int64", "l", type_id::INT64, zero_copy, zero_copy, ""},
  {"uint8", "C", type_id::UINT8, zero_copy, zero_copy, ""},
  {"uint16", "S", type_id::UINT16, zero_copy, zero_copy, ""},
  {"uint32", "I", type_id::UINT32, zero_copy, zero_copy, ""},
  {"uint64", "L", type_id::UINT64, zero_copy, zero_copy, ""},
  {"float", "f", type_id::FLOAT32, zero_copy, zero_copy, ""},
  {"double", "g", type_id::FLOAT64, zero_copy, zero_copy, ""},
  {"bool", "b", type_id::BOOL8, converted, converted, "bits in Arrow, bytes in cuDF"},
  {"date32", "tdD", type_id::TIMESTAMP_DAYS, zero_copy, zero_copy, ""},
  {"timestamp[s]", "tss:", type_id::TIMESTAMP_SECONDS, zero_copy, zero_copy, "time zone kept"},
  {"timestamp[ms]",
   "tsm:",
   type_id::TIMESTAMP_MILLISECONDS,
   zero_copy,
   zero_copy,
   "time zone kept"},
  {"timestamp[us]",
   "tsu:",
   type_id::TIMESTAMP_MICROSECONDS,
   zero_copy,
   zero_copy,
   "time zone kept"},
  {"timestamp[ns]", "tsn:", type_id::TIMESTAMP_NANOSECONDS, zero_copy, zero_copy, "time zone kept"},
  {"duration[s]", "tDs", type_id::DURATION_SECONDS, zero_copy, zero_copy, ""},
  {"duration[ms]", "tDm", type_id::DURATION_MILLISECONDS, zero_copy, zero_copy, ""},
  {"duration[us]", "tDu", type_id::DURATION_MICROSECONDS, zero_copy, zero_copy, ""},
  {"duration[ns]", "tDn", type_id::DURATION_NANOSECONDS, zero_copy, zero_copy, ""},
  {"duration[s]",
   "tDs",
   type_id::DURATION_DAYS,
   converted,
   unsupported,
   "Arrow has no duration in days: counted in seconds"},
  {"decimal32", "d:", type_id::DECIMAL32, zero_copy, zero_copy, "precision kept"},
  {"decimal64", "d:", type_id::DECIMAL64, zero_copy, zero_copy, "precision kept"},
  {"decimal128", "d:", type_id::DECIMAL128, zero_copy, zero_copy, "precision kept"},
  {"string", "u", type_id::STRING, zero_copy, zero_copy, "32-bit offsets", "first and last offset"},
  {"large_string",
   "U",
   type_id::STRING,
   zero_copy,
   zero_copy,
   "64-bit offsets",
   "first and last offset"},
  {"list", "+l", type_id::LIST, zero_copy, zero_copy, "", "first and last offset"},
  {"struct", "+s", type_id::STRUCT, zero_copy, zero_copy, ""},
  {"dictionary",
   "",
   type_id::DICTIONARY32,
   zero_copy,
   zero_copy,
   "unsigned indices too wide for the signed type are widened on import"},
  {"halffloat", "e", type_id::FLOAT32, unsupported, converted, "widened"},
  {"date64", "tdm", type_id::TIMESTAMP_MILLISECONDS, zero_copy, zero_copy, ""},
  {"time32[s]",
   "tts",
   type_id::DURATION_SECONDS,
   converted,
   converted,
   "32 bits in Arrow, 64 in cuDF"},
  {"time32[ms]",
   "ttm",
   type_id::DURATION_MILLISECONDS,
   converted,
   converted,
   "32 bits in Arrow, 64 in cuDF"},
  {"time64[us]", "ttu", type_id::DURATION_MICROSECONDS, zero_copy, zero_copy, ""},
  {"time64[ns]", "ttn", type_id::DURATION_NANOSECONDS, zero_copy, zero_copy, ""},
  {"month_interval", "tiM", type_id::EMPTY, unsupported, unsupported, "cuDF has no such type"},
  {"day_time_interval", "tiD", type_id::EMPTY, unsupported, unsupported, "cuDF has no such type"},
  {"month_day_nano_interval",
   "tin",
   type_id::EMPTY,
   unsupported,
   unsupported,
   "cuDF has no such type"},
  {"decimal256", "d:", type_id::EMPTY, unsupported, unsupported, "cuDF has no such type"},
  {"binary", "z", type_id::LIST, zero_copy, zero_copy, "lists of bytes", "first and last offset"},
  {"large_binary",
   "Z",
   type_id::LIST,
   converted,
   converted,
   "lists of bytes; offsets narrowed to 32 bits, bytes shared",
   "first and last offset"},
  {"binary_view",
   "vz",
   type_id::LIST,
   converted,
   converted,
   "lists of bytes; copied together",
   "size of the data"},
  {"string_view",
   "vu",
   type_id::STRING,
   converted,
   converted,
   "bytes copied together",
   "size of the data"},
  {"fixed_size_binary",
   "w:",
   type_id::LIST,
   zero_copy,
   converted,
   "lists of bytes; offsets made, bytes shared"},
  {"large_list",
   "+L",
   type_id::LIST,
   converted,
   converted,
   "offsets narrowed to 32 bits, elements shared",
   "first and last offset"},
  {"list_view",
   "+vl",
   type_id::LIST,
   unsupported,
   converted,
   "offsets made; elements gathered, in host memory shared if in order",
   "number of elements"},
  {"large_list_view",
   "+vL",
   type_id::LIST,
   unsupported,
   converted,
   "offsets made; elements gathered, in host memory shared if in order",
   "number of elements"},
  {"fixed_size_list",
   "+w:",
   type_id::LIST,
   unsupported,
   converted,
   "offsets made, elements shared"},
  {"map",
   "+m",
   type_id::LIST,
   zero_copy,
   zero_copy,
   "lists of key-value structs",
   "first and last offset"},
  {"sparse_union", "+us:", type_id::EMPTY, unsupported, unsupported, "cuDF has no such type"},
  {"dense_union", "+ud:", type_id::EMPTY, unsupported, unsupported, "cuDF has no such type"},
  {"run_end_encoded",
   "+r",
   type_id::EMPTY,
   unsupported,
   converted,
   "a column of its values, each repeated",
   "last run end"},
});

/// A format that ends in a colon stands for all its parameters.
bool has_format(type_row const& row, std::string_view format)
{ return row.format.ends_with(':') ? format.starts_with(row.format) : format == row.format; }

template <typename Predicate>
type_row const* find_row(Predicate predicate)
{
  auto const found = std::find_if(rows.begin(), rows.end(), predicate);
  return found == rows.end() ? nullptr : &*found;
}

type_row const* find_named(std::string_view name)
{
  return find_row([name](auto const& row) { return row.arrow == name; });
}

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

/// @return The most digits that a decimal's width holds
int max_precision(ArrowSchemaView const& view)
{
  switch (view.decimal_bitwidth) {
    case 32: return 9;
    case 64: return 18;
    case 128: return 38;
    default: return 76;
  }
}

/// nanoarrow keeps the low 32 bits of a number and takes what comes: a list's size below 0, say.
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
      // A scale of libcudf is the negative, in as many bits.
      return view.decimal_precision > 0 && view.decimal_precision <= max_precision(view) &&
             std::abs(std::int64_t{view.decimal_scale}) <= std::numeric_limits<int>::max() &&
             (format == plain || format == plain + "," + std::to_string(view.decimal_bitwidth));
    }
    default: return true;
  }
}

}  // namespace

detail::parsed_type detail::parse_type(ArrowSchema const& schema)
{
  // nanoarrow takes no bytes to be a mistake.
  if (schema.format == std::string_view{"w:0"} && schema.dictionary == nullptr &&
      schema.n_children == 0) {
    auto const* row = find_named("fixed_size_binary");
    return {row, cudf::data_type{row->column}, array_layout::fixed, 0, 0};
  }
  ArrowSchemaView view{};
  ArrowError error;  // 1 KiB, of which this clears what is read
  ArrowErrorInit(&error);
  if (ArrowSchemaViewInit(&view, &schema, &error) != NANOARROW_OK) {
    throw std::invalid_argument{ArrowErrorMessage(&error)};
  }
  if (!has_plain_parameters(view)) {
    throw std::invalid_argument{"parameters out of range in the format string '" +
                                std::string{schema.format} + "'"};
  }
  auto const format = std::string_view{schema.format};
  // nanoarrow takes times and dates for integers, as which they are stored.
  if (schema.dictionary != nullptr && std::string_view{"cCsSiIlL"}.find(format) == format.npos) {
    throw std::invalid_argument{"indices of the format '" + std::string{format} +
                                "' found, integers expected of a dictionary"};
  }
  auto const decimal = format.starts_with("d:");
  auto const* row    = schema.dictionary != nullptr ? find_named("dictionary")
                       : decimal ? find_named("decimal" + std::to_string(view.decimal_bitwidth))
                                 : find_row([&](auto const& r) { return has_format(r, format); });
  if (row == nullptr) {
    throw std::invalid_argument{"unknown Arrow format string '" + std::string{format} + "'"};
  }
  auto const is_decimal_column = decimal && row->column != type_id::EMPTY;
  return {row,
          is_decimal_column ? cudf::data_type{row->column, -view.decimal_scale}
                            : cudf::data_type{row->column},
          layout_of(view),
          view.layout.element_size_bits[1],
          view.layout.child_size_elements};
}

char const* detail::name_of_child(ArrowSchema const& schema,
                                  array_layout layout,
                                  std::int64_t child)
{
  switch (layout) {
    case array_layout::validity:
    case array_layout::runs: return schema.children[child]->name;
    default: return "[]";
  }
}

cudf::type_id detail::index_type(ArrowSchema const& schema)
{
  auto const format = std::string_view{schema.format};
  return find_row([format](auto const& row) { return row.format == format; })->column;
}

std::span<type_row const> type_table() noexcept { return rows; }

type_row const& import_row(ArrowSchema const& schema)
{
  detail::check_structure(schema, nullptr, column_path{});
  return *detail::parse_type(schema).row;
}

type_row const& export_row(cudf::type_id type, bool large_offsets)
{
  if (type == type_id::STRING) { return *find_named(large_offsets ? "large_string" : "string"); }
  auto const* row =
    find_row([type](auto const& r) { return r.column == type && r.on_export != unsupported; });
  if (row == nullptr) {
    throw cudf::data_type_error{"Arrow has no type for libcudf's type id " +
                                std::to_string(static_cast<int>(type))};
  }
  return *row;
}

}  // namespace cudf_arrow_bridge
