// SPDX-License-Identifier: Apache-2.0
/// @file
/// Random values and types. The same seed gives the same values and types.
#pragma once

#include "testing/value.hpp"

#include <array>

namespace cudf_arrow_bridge::test {

using engine = std::mt19937;

/// Return a number below `bound`: the same on all platforms, unlike std's distributions.
inline int below(engine& random, int bound)
{ return static_cast<int>(random() % static_cast<unsigned>(bound)); }

/// Return one row; `null_percent` of the rows of each level are null.
inline value sample(shape const& type, engine& random, int null_percent)
{
  if (type.id == cudf::type_id::EMPTY || below(random, 100) < null_percent) { return {}; }
  switch (type.id) {
    case cudf::type_id::BOOL8: return number(below(random, 2));
    case cudf::type_id::FLOAT32:
      return number(std::bit_cast<std::uint32_t>(static_cast<float>(below(random, 2000)) / -8.0F));
    case cudf::type_id::FLOAT64:
      return number(std::bit_cast<std::uint64_t>(below(random, 2000) / -8.0));
    case cudf::type_id::STRING: {
      static constexpr auto words =
        std::to_array<char const*>({"", "a", "forty-two", "\xc3\xa9t\xc3\xa9", "zero\x01one"});
      auto text = std::string{words[static_cast<std::size_t>(below(random, words.size()))]};
      return {text + std::to_string(below(random, 20))};
    }
    case cudf::type_id::LIST: {
      auto const fixed = type.list_size();
      auto items       = rows(static_cast<std::size_t>(fixed < 0 ? below(random, 4) : fixed));
      auto const whole = type.is_binary() || type.format == "+m";  // these have no null items
      for (auto& item : items) {
        item = sample(type.children[0], random, whole ? 0 : null_percent);
      }
      return {std::move(items)};
    }
    case cudf::type_id::STRUCT: {
      auto items = rows{};
      for (auto const& field : type.children) {
        items.push_back(sample(field, random, null_percent));
      }
      return {std::move(items)};
    }
    // Few values, so that some of them repeat; keys have no nulls of their own.
    case cudf::type_id::DICTIONARY32: {
      auto few = engine{static_cast<unsigned>(below(random, 10))};
      return sample(type.children[0], few, 0);
    }
    default: {
      auto const is_time32 = type.format == "tts" || type.format == "ttm";
      auto const bits      = is_time32 ? 32 : 8 * static_cast<int>(cudf::size_of(type.type()));
      auto const draw      = (static_cast<std::uint64_t>(random()) << 32) | random();
      if (bits == 128) { return number(static_cast<__int128_t>(draw) * -1'000'003); }
      auto const kept = draw >> (64 - bits);
      if (!type.is_signed()) { return number(kept); }
      return number(static_cast<std::int64_t>(draw) >> (64 - bits));
    }
  }
}

inline rows samples(shape const& type, std::size_t count, int null_percent, unsigned seed = 1)
{
  auto random = engine{seed};
  auto result = rows(count);
  for (auto& row : result) { row = sample(type, random, null_percent); }
  return result;
}

/// Return a type with at most `depth` levels below the top.
inline shape sample_shape(engine& random, int depth)
{
  auto const& flats = flat_shapes();
  auto const flat   = [&] { return flats[random() % flats.size()]; };
  switch (depth == 0 ? 0 : below(random, 5)) {
    case 1:
    case 2: return list_of(sample_shape(random, depth - 1));
    case 3: {
      auto fields = std::vector<shape>{};
      for (auto i = below(random, 4); i > 0; --i) {
        fields.push_back(sample_shape(random, depth - 1));
      }
      return struct_of(std::move(fields));
    }
    case 4: {
      auto const keys = flat();
      return keys.id == cudf::type_id::EMPTY ? keys : dictionary_of(keys);
    }
    default: return flat();
  }
}

/// Return each type, flat and in each valid kind of nesting.
inline std::vector<shape> nested_shapes()
{
  auto result = std::vector<shape>{};
  for (auto const& type : flat_shapes()) {
    result.push_back(type);
    result.push_back(list_of(type));
    result.push_back(struct_of({type, flat("int32")}));
    if (type.id != cudf::type_id::EMPTY) { result.push_back(dictionary_of(type)); }
  }
  auto const pair =
    struct_of({flat("string"), list_of(flat("int16")), dictionary_of(flat("string"))});
  for (auto const& type : {list_of(list_of(flat("string"))),
                           list_of(pair),
                           struct_of({pair, flat("bool8")}),
                           struct_of({}),
                           list_of(struct_of({list_of(pair)})),
                           dictionary_of(struct_of({flat("string"), flat("int8")}), "c"),
                           list_of(dictionary_of(flat("large_string"), "l"))}) {
    result.push_back(type);
  }
  return result;
}

/// Return string views, list views and run-end encoded types, flat and nested.
inline std::vector<shape> view_shapes()
{
  auto const text = as(cudf::type_id::STRING, "string_view", "vu");
  auto const pair = struct_of({text, flat("int32")});
  return {text,
          bytes_as("binary_view", "vz"),
          list_of(text),
          pair,
          list_of(pair),
          dictionary_of(text),
          list_view_of(flat("int16")),
          large_list_view_of(flat("string")),
          list_view_of(list_view_of(text)),
          list_of(large_list_view_of(pair)),
          struct_of({list_view_of(flat("bool8")), flat("decimal128")}),
          list_view_of(dictionary_of(flat("string"))),
          list_view_of(fixed_list_of(flat("int8"), 2)),
          runs_of(flat("int32"), "s"),
          runs_of(flat("string"), "i"),
          runs_of(flat("large_string"), "l"),
          runs_of(flat("bool8")),
          runs_of(flat("null")),
          runs_of(text),
          runs_of(pair),
          runs_of(list_view_of(text)),
          runs_of(dictionary_of(flat("string"))),
          list_of(runs_of(flat("int64"), "l")),
          list_view_of(runs_of(flat("int8"), "s")),
          struct_of({runs_of(flat("string")), flat("int16")}),
          runs_of(struct_of({runs_of(flat("int8")), list_of(flat("int8"))}))};
}

/// Return Arrow types that are imported as another type, flat and nested.
inline std::vector<shape> foreign_shapes()
{
  using enum cudf::type_id;
  auto const flats = std::vector<shape>{as(FLOAT32, "half", "e"),
                                        as(TIMESTAMP_MILLISECONDS, "date64", "tdm"),
                                        as(DURATION_SECONDS, "time32_s", "tts"),
                                        as(DURATION_MILLISECONDS, "time32_ms", "ttm"),
                                        as(DURATION_MICROSECONDS, "time64_us", "ttu"),
                                        as(DURATION_NANOSECONDS, "time64_ns", "ttn"),
                                        bytes_as("binary", "z"),
                                        bytes_as("large_binary", "Z"),
                                        bytes_as("bytes_of_3", "w:3"),
                                        large_list_of(flat("int16")),
                                        fixed_list_of(flat("string"), 2),
                                        map_of(flat("string"), flat("int8"))};
  auto result      = std::vector<shape>{};
  for (auto const& type : flats) {
    result.push_back(type);
    for (auto const& nested :
         {list_of(type), struct_of({type, flat("int32")}), dictionary_of(type)}) {
      result.push_back(nested);
    }
    result.push_back(large_list_of(fixed_list_of(type, 3)));
    result.push_back(map_of(type, struct_of({type})));
  }
  return result;
}

/// Return all types that an import accepts.
inline std::vector<shape> importable_shapes()
{
  auto result = nested_shapes();
  for (auto& type : foreign_shapes()) { result.push_back(std::move(type)); }
  for (auto& type : view_shapes()) { result.push_back(std::move(type)); }
  for (auto const* format : {"c", "s", "l", "C", "S", "I", "L"}) {
    result.push_back(dictionary_of(flat("string"), format));
  }
  return result;
}

}  // namespace cudf_arrow_bridge::test
