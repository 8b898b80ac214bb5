// SPDX-License-Identifier: Apache-2.0

#include "base/parsed_type.hpp"
#include "base/structure.hpp"

#include <cudf_arrow_bridge/types.hpp>

#include <cudf/utilities/error.hpp>

#include <algorithm>
#include <array>
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
  {"fixed_size_list", "+w:", type_id::LIST, zero_copy, converted, "offsets made, elements shared"},
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

/// A row whose format ends in a colon matches any parameters after it.
bool has_format(type_row const& row, std::string_view format)
{ return row.format.ends_with(':') ? format.starts_with(row.format) : format == row.format; }

template <typename Predicate>
type_row const* find_row(Predicate predicate)
{
  auto const row = std::find_if(rows.begin(), rows.end(), predicate);
  return row == rows.end() ? nullptr : &*row;
}

}  // namespace

type_row const* detail::find_type_named(std::string_view name)
{
  return find_row([name](auto const& row) { return row.arrow == name; });
}

type_row const* detail::find_type_of_format(std::string_view format)
{
  return find_row([format](auto const& row) { return has_format(row, format); });
}

std::span<type_row const> type_table() noexcept { return rows; }

type_row const& import_row(ArrowSchema const& schema)
{
  detail::check_structure(schema, column_path{});
  return *detail::parse_type(schema).row;
}

type_row const& export_row(cudf::type_id type, bool large_offsets)
{
  if (type == type_id::STRING) {
    return *detail::find_type_named(large_offsets ? "large_string" : "string");
  }
  auto const* row =
    find_row([type](auto const& r) { return r.column == type && r.on_export != unsupported; });
  if (row == nullptr) {
    throw cudf::data_type_error{"Arrow has no type for libcudf's type id " +
                                std::to_string(static_cast<int>(type))};
  }
  return *row;
}

}  // namespace cudf_arrow_bridge
