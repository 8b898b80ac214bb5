// SPDX-License-Identifier: Apache-2.0
/// @file
/// Columns as plain C++ values, to compare Arrow arrays and libcudf columns with.
#pragma once

#include <cudf/types.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cudf_arrow_bridge::test {

/// A row: null, a number (floats by their bits), a string, or a list's or struct's items.
struct value {
  std::variant<std::monostate, __int128_t, std::string, std::vector<value>> content;

  [[nodiscard]] bool is_null() const { return content.index() == 0; }

  [[nodiscard]] __int128_t number() const { return std::get<__int128_t>(content); }

  [[nodiscard]] std::string const& text() const { return std::get<std::string>(content); }

  [[nodiscard]] std::vector<value> const& items() const
  { return std::get<std::vector<value>>(content); }

  friend bool operator==(value const& a, value const& b) { return a.content == b.content; }
};

using rows = std::vector<value>;

inline value number(__int128_t n) { return {n}; }

inline void PrintTo(value const& v, std::ostream* out)
{
  if (v.is_null()) {
    *out << "null";
  } else if (std::holds_alternative<__int128_t>(v.content)) {
    *out << static_cast<std::int64_t>(v.number());
  } else if (std::holds_alternative<std::string>(v.content)) {
    *out << '"' << v.text() << '"';
  } else {
    *out << '[';
    for (auto const& item : v.items()) {
      PrintTo(item, out);
      *out << ' ';
    }
    *out << ']';
  }
}

inline rows part(rows const& all, std::size_t begin, std::size_t end)
{
  using difference = rows::difference_type;
  return {all.begin() + static_cast<difference>(begin), all.begin() + static_cast<difference>(end)};
}

inline bool has_nulls(rows const& values)
{
  return std::any_of(values.begin(), values.end(), [](auto const& v) { return v.is_null(); });
}

/// A libcudf type and the Arrow type that it corresponds to.
struct shape {
  cudf::type_id id;
  std::string name;             ///< for the names of tests
  std::string format;           ///< Arrow's; for a dictionary that of its indices
  int scale{0};                 ///< libcudf's, of decimals
  std::vector<shape> children;  ///< a list's element, a struct's fields, a dictionary's values
  std::string run_ends{};       ///< format of the run ends if run-end encoded

  [[nodiscard]] cudf::data_type type() const
  { return scale == 0 ? cudf::data_type{id} : cudf::data_type{id, scale}; }

  [[nodiscard]] bool is_float() const
  { return id == cudf::type_id::FLOAT32 || id == cudf::type_id::FLOAT64; }

  /// Whether this is a list of bytes that is one of Arrow's binary types.
  [[nodiscard]] bool is_binary() const
  { return id == cudf::type_id::LIST && !format.starts_with('+'); }

  /// Elements of each list of a fixed-size type, else -1.
  [[nodiscard]] int list_size() const
  { return format.find("w:") > 1 ? -1 : std::stoi(format.substr(format.find(':') + 1)); }

  [[nodiscard]] bool is_signed() const
  {
    return !is_float() && id != cudf::type_id::BOOL8 &&
           (id < cudf::type_id::UINT8 || id > cudf::type_id::UINT64);
  }
};

inline void PrintTo(shape const& type, std::ostream* out) { *out << type.name; }

inline shape list_of(shape element)
{ return {cudf::type_id::LIST, "list_" + element.name, "+l", 0, {std::move(element)}}; }

inline shape struct_of(std::vector<shape> fields)
{
  auto name = std::string{"struct"};
  for (auto const& field : fields) { name += "_" + field.name; }
  return {cudf::type_id::STRUCT, std::move(name), "+s", 0, std::move(fields)};
}

inline shape dictionary_of(shape keys, std::string index_format = "i")
{
  return {cudf::type_id::DICTIONARY32,
          "dictionary_" + index_format + "_" + keys.name,
          index_format,
          0,
          {std::move(keys)}};
}

/// An Arrow type that is imported as another type.
inline shape as(cudf::type_id id,
                std::string name,
                std::string format,
                std::vector<shape> children = {})
{ return {id, std::move(name), std::move(format), 0, std::move(children)}; }

inline shape large_list_of(shape const& element)
{ return as(cudf::type_id::LIST, "large_list_" + element.name, "+L", {element}); }

inline shape fixed_list_of(shape const& element, int size)
{
  auto const n = std::to_string(size);
  return as(cudf::type_id::LIST, "list_of_" + n + "_" + element.name, "+w:" + n, {element});
}

inline shape map_of(shape const& key, shape const& item)
{
  auto const name = "map_" + key.name + "_" + item.name;
  return as(cudf::type_id::LIST, name, "+m", {struct_of({key, item})});
}

/// A list of bytes in libcudf, a binary type without a child in Arrow.
inline shape bytes_as(std::string name, std::string format)
{
  return as(cudf::type_id::LIST,
            std::move(name),
            std::move(format),
            {as(cudf::type_id::UINT8, "uint8", "C")});
}

inline shape list_view_of(shape const& element)
{ return as(cudf::type_id::LIST, "list_view_" + element.name, "+vl", {element}); }

inline shape large_list_view_of(shape const& element)
{ return as(cudf::type_id::LIST, "large_list_view_" + element.name, "+vL", {element}); }

/// Run-end encoded values, with run ends of the given format.
inline shape runs_of(shape values, std::string run_ends = "i")
{
  values.name     = "runs_" + run_ends + "_" + values.name;
  values.run_ends = std::move(run_ends);
  return values;
}

/// The type of the run ends.
inline shape ends_of_runs(shape const& type)
{
  auto const id = type.run_ends == "s"   ? cudf::type_id::INT16
                  : type.run_ends == "i" ? cudf::type_id::INT32
                                         : cudf::type_id::INT64;
  return {id, "", type.run_ends, 0, {}};
}

/// The type of the values of a run-end encoded type.
inline shape values_of_runs(shape type)
{
  type.run_ends.clear();
  return type;
}

/// Every type without children whose values are not converted.
inline std::vector<shape> const& flat_shapes()
{
  using enum cudf::type_id;
  static auto const shapes = std::vector<shape>{
    {INT8, "int8", "c", 0, {}},
    {INT16, "int16", "s", 0, {}},
    {INT32, "int32", "i", 0, {}},
    {INT64, "int64", "l", 0, {}},
    {UINT8, "uint8", "C", 0, {}},
    {UINT16, "uint16", "S", 0, {}},
    {UINT32, "uint32", "I", 0, {}},
    {UINT64, "uint64", "L", 0, {}},
    {FLOAT32, "float32", "f", 0, {}},
    {FLOAT64, "float64", "g", 0, {}},
    {BOOL8, "bool8", "b", 0, {}},
    {TIMESTAMP_DAYS, "date32", "tdD", 0, {}},
    {TIMESTAMP_SECONDS, "timestamp_s", "tss:", 0, {}},
    {TIMESTAMP_MILLISECONDS, "timestamp_ms", "tsm:", 0, {}},
    {TIMESTAMP_MICROSECONDS, "timestamp_us", "tsu:", 0, {}},
    {TIMESTAMP_NANOSECONDS, "timestamp_ns", "tsn:", 0, {}},
    {DURATION_SECONDS, "duration_s", "tDs", 0, {}},
    {DURATION_MILLISECONDS, "duration_ms", "tDm", 0, {}},
    {DURATION_MICROSECONDS, "duration_us", "tDu", 0, {}},
    {DURATION_NANOSECONDS, "duration_ns", "tDn", 0, {}},
    {DECIMAL32, "decimal32", "d:9,2,32", -2, {}},
    {DECIMAL64, "decimal64", "d:18,-3,64", 3, {}},
    {DECIMAL128, "decimal128", "d:38,20", -20, {}},
    {STRING, "string", "u", 0, {}},
    {STRING, "large_string", "U", 0, {}},
    {EMPTY, "null", "n", 0, {}},
  };
  return shapes;
}

inline shape const& flat(std::string const& name)
{
  auto const& all = flat_shapes();
  return *std::find_if(all.begin(), all.end(), [&](auto const& s) { return s.name == name; });
}

}  // namespace cudf_arrow_bridge::test
