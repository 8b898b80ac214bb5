// SPDX-License-Identifier: Apache-2.0

#include "base/parsed_type.hpp"

#include <cudf_arrow_bridge/types.hpp>

#include <cudf/utilities/error.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace cudf_arrow_bridge {
namespace {

using cudf::type_id;
using detail::array_layout;
using enum type_support;
using enum type_id;

constexpr auto offset_ends = std::string_view{"first and last offset"};
constexpr auto narrower    = std::string_view{"32 bits in Arrow, 64 in cuDF"};
constexpr auto gathered =
  std::string_view{"offsets made; elements gathered, in host memory shared if in order"};

constexpr auto rows = std::to_array<type_row>({
  {"null", "n", EMPTY, zero_copy, zero_copy, "no buffers"},
  {"int8", "c", INT8, zero_copy, zero_copy, ""},
  {"int16", "s", INT16, zero_copy, zero_copy, ""},
  {"int32", "i", INT32, zero_copy, zero_copy, ""},
  {"int64", "l", INT64, zero_copy, zero_copy, ""},
  {"uint8", "C", UINT8, zero_copy, zero_copy, ""},
  {"uint16", "S", UINT16, zero_copy, zero_copy, ""},
  {"uint32", "I", UINT32, zero_copy, zero_copy, ""},
  {"uint64", "L", UINT64, zero_copy, zero_copy, ""},
  {"float", "f", FLOAT32, zero_copy, zero_copy, ""},
  {"double", "g", FLOAT64, zero_copy, zero_copy, ""},
  {"bool", "b", BOOL8, converted, converted, "bits in Arrow, bytes in cuDF"},
  {"bool8",
   "c",
   BOOL8,
   zero_copy,
   zero_copy,
   "extension type; copied if a byte is neither 0 nor 1",
   "the greatest byte"},
  {"date32", "tdD", TIMESTAMP_DAYS, zero_copy, zero_copy, ""},
  {"timestamp[s]", "tss:", TIMESTAMP_SECONDS, zero_copy, zero_copy, "time zone kept"},
  {"timestamp[ms]", "tsm:", TIMESTAMP_MILLISECONDS, zero_copy, zero_copy, "time zone kept"},
  {"timestamp[us]", "tsu:", TIMESTAMP_MICROSECONDS, zero_copy, zero_copy, "time zone kept"},
  {"timestamp[ns]", "tsn:", TIMESTAMP_NANOSECONDS, zero_copy, zero_copy, "time zone kept"},
  {"duration[s]", "tDs", DURATION_SECONDS, zero_copy, zero_copy, ""},
  {"duration[ms]", "tDm", DURATION_MILLISECONDS, zero_copy, zero_copy, ""},
  {"duration[us]", "tDu", DURATION_MICROSECONDS, zero_copy, zero_copy, ""},
  {"duration[ns]", "tDn", DURATION_NANOSECONDS, zero_copy, zero_copy, ""},
  {"duration[s]",
   "tDs",
   DURATION_DAYS,
   converted,
   unsupported,
   "Arrow has no duration in days: counted in seconds"},
  {"decimal32", "d:", DECIMAL32, zero_copy, zero_copy, "precision kept"},
  {"decimal64", "d:", DECIMAL64, zero_copy, zero_copy, "precision kept"},
  {"decimal128", "d:", DECIMAL128, zero_copy, zero_copy, "precision kept"},
  {"string", "u", STRING, zero_copy, zero_copy, "32-bit offsets", offset_ends},
  {"large_string", "U", STRING, zero_copy, zero_copy, "64-bit offsets", offset_ends},
  {"list", "+l", LIST, zero_copy, zero_copy, "", offset_ends},
  {"struct", "+s", STRUCT, zero_copy, zero_copy, ""},
  {"dictionary",
   "",
   DICTIONARY32,
   zero_copy,
   zero_copy,
   "unsigned indices too wide for the signed type are widened on import"},
  {"halffloat", "e", FLOAT32, unsupported, converted, "widened"},
  {"date64", "tdm", TIMESTAMP_MILLISECONDS, zero_copy, zero_copy, ""},
  {"time32[s]", "tts", DURATION_SECONDS, converted, converted, narrower},
  {"time32[ms]", "ttm", DURATION_MILLISECONDS, converted, converted, narrower},
  {"time64[us]", "ttu", DURATION_MICROSECONDS, zero_copy, zero_copy, ""},
  {"time64[ns]", "ttn", DURATION_NANOSECONDS, zero_copy, zero_copy, ""},
  {"month_interval", "tiM", EMPTY, unsupported, unsupported, "cuDF has no such type"},
  {"day_time_interval", "tiD", EMPTY, unsupported, unsupported, "cuDF has no such type"},
  {"month_day_nano_interval", "tin", EMPTY, unsupported, unsupported, "cuDF has no such type"},
  {"decimal256", "d:", EMPTY, unsupported, unsupported, "cuDF has no such type"},
  {"binary", "z", LIST, zero_copy, zero_copy, "lists of bytes", offset_ends},
  {"large_binary",
   "Z",
   LIST,
   converted,
   converted,
   "lists of bytes; offsets narrowed to 32 bits, bytes shared",
   offset_ends},
  {"binary_view",
   "vz",
   LIST,
   converted,
   converted,
   "lists of bytes; copied together",
   "size of the data"},
  {"string_view", "vu", STRING, converted, converted, "bytes copied together", "size of the data"},
  {"fixed_size_binary",
   "w:",
   LIST,
   zero_copy,
   converted,
   "lists of bytes; offsets made, bytes shared"},
  {"large_list",
   "+L",
   LIST,
   converted,
   converted,
   "offsets narrowed to 32 bits, elements shared",
   offset_ends},
  {"list_view", "+vl", LIST, unsupported, converted, gathered, "number of elements"},
  {"large_list_view", "+vL", LIST, unsupported, converted, gathered, "number of elements"},
  {"fixed_size_list", "+w:", LIST, zero_copy, converted, "offsets made, elements shared"},
  {"map", "+m", LIST, zero_copy, zero_copy, "lists of key-value structs", offset_ends},
  {"sparse_union", "+us:", EMPTY, unsupported, unsupported, "cuDF has no such type"},
  {"dense_union", "+ud:", EMPTY, unsupported, unsupported, "cuDF has no such type"},
  {"run_end_encoded",
   "+r",
   EMPTY,
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
