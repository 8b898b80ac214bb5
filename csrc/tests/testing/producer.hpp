// SPDX-License-Identifier: Apache-2.0
/// @file
/// Builds Arrow arrays with nanoarrow. A test chooses the slice of each level.
#pragma once

#include "testing/arrow_schema.hpp"
#include "testing/columns.hpp"
#include "testing/sample.hpp"

#include <cudf_arrow_bridge/owners.hpp>

#include <nanoarrow/nanoarrow.hpp>

#include <functional>

namespace cudf_arrow_bridge::test {

/// Rows of an array before and after its slice.
struct padding {
  int before{0};
  int after{0};
};

/// How to slice the levels of an array; the top is level 0.
struct slicing {
  std::function<padding(int)> at{[](int) { return padding{}; }};
  bool count_nulls{true};  ///< if false, `null_count` is -1
};

inline void append(ArrowArray* array, shape const& type, value const& v)
{
  if (v.is_null()) { return check(ArrowArrayAppendNull(array, 1)); }
  switch (type.id) {
    case cudf::type_id::LIST: {
      auto bytes = std::vector<std::uint8_t>{};
      // nanoarrow copies from the given address, even if there is nothing to copy.
      bytes.reserve(1);
      for (auto const& item : v.items()) {
        bytes.push_back(static_cast<std::uint8_t>(item.number()));
      }
      return check(ArrowArrayAppendBytes(array, {{bytes.data()}, std::ssize(bytes)}));
    }
    case cudf::type_id::STRING: {
      auto const& text = v.text();
      return check(
        ArrowArrayAppendString(array, {text.data(), static_cast<std::int64_t>(text.size())}));
    }
    case cudf::type_id::FLOAT32:
      return check(ArrowArrayAppendDouble(
        array, std::bit_cast<float>(static_cast<std::uint32_t>(v.number()))));
    case cudf::type_id::FLOAT64:
      return check(ArrowArrayAppendDouble(
        array, std::bit_cast<double>(static_cast<std::uint64_t>(v.number()))));
    case cudf::type_id::DECIMAL32:
    case cudf::type_id::DECIMAL64:
    case cudf::type_id::DECIMAL128: {
      auto const bytes = std::bit_cast<std::array<std::uint8_t, 16>>(v.number());
      auto decimal     = ArrowDecimal{};
      auto const width = 8 * static_cast<std::int32_t>(cudf::size_of(type.type()));
      ArrowDecimalInit(&decimal, width, 9, 0);
      ArrowDecimalSetBytes(&decimal, bytes.data());
      return check(ArrowArrayAppendDecimal(array, &decimal));
    }
    default:
      return check(type.is_signed()
                     ? ArrowArrayAppendInt(array, static_cast<std::int64_t>(v.number()))
                     : ArrowArrayAppendUInt(array, static_cast<std::uint64_t>(v.number())));
  }
}

inline rows padded(shape const& type, rows const& values, padding const& pad)
{
  auto const nulls = has_nulls(values) ? 50 : 0;
  auto result      = samples(type, static_cast<std::size_t>(pad.before), nulls, 5);
  result.insert(result.end(), values.begin(), values.end());
  auto const after = samples(type, static_cast<std::size_t>(pad.after), nulls, 6);
  result.insert(result.end(), after.begin(), after.end());
  return result;
}

/// Return the elements and offsets of lists. Null lists are empty unless the size is fixed.
inline std::pair<rows, std::vector<std::int32_t>> flatten(shape const& type, rows values)
{
  if (type.list_size() > 0) {
    auto const filler = samples(type.children[0], static_cast<std::size_t>(type.list_size()), 0, 7);
    for (auto& v : values) {
      if (v.is_null()) { v = {filler}; }
    }
  }
  return flatten(values);
}

inline void build(
  ArrowArray* array, shape const& type, rows const& values, slicing const& slices, int level);

template <typename T>
void append_all(ArrowBuffer* buffer, std::vector<T> const& values)
{ check(ArrowBufferAppend(buffer, values.data(), std::ssize(values) * std::int64_t{sizeof(T)})); }

/// Build list views with elements in reverse order. Null rows refer to elements out of bounds.
inline void build_list_views(
  ArrowArray* array, shape const& type, rows const& all, slicing const& slices, int level)
{
  auto const [elements, ends] = flatten(rows{all.rbegin(), all.rend()});
  auto offsets                = std::vector<std::int64_t>{};
  auto sizes                  = std::vector<std::int64_t>{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const begin = ends[all.size() - 1 - i];
    offsets.push_back(all[i].is_null() ? 1 << 30 : begin);
    sizes.push_back(all[i].is_null() ? 7 : ends[all.size() - i] - begin);
  }
  build(array->children[0], type.children[0], elements, slices, level + 1);
  for (auto const& [index, numbers] : {std::pair{1, offsets}, {2, sizes}}) {
    auto* buffer = ArrowArrayBuffer(array, index);
    if (type.format == "+vL") {
      append_all(buffer, numbers);
    } else {
      append_all(buffer, std::vector<std::int32_t>{numbers.begin(), numbers.end()});
    }
  }
}

/// Build runs of one to three equal rows.
inline void build_runs(
  ArrowArray* array, shape const& type, rows const& all, slicing const& slices, int level)
{
  auto ends = rows{};
  auto kept = rows{};
  for (std::size_t i = 0; i < all.size();) {
    kept.push_back(all[i]);
    auto const most = std::min(all.size(), i + 1 + kept.size() % 3);
    do {
      ++i;
    } while (i < most && all[i] == kept.back());
    ends.push_back(number(static_cast<__int128_t>(i)));
  }
  build(array->children[0], ends_of_runs(type), ends, slices, level + 1);
  build(array->children[1], values_of_runs(type), kept, slices, level + 1);
}

inline void build(
  ArrowArray* array, shape const& type, rows const& values, slicing const& slices, int level)
{
  auto const pad = slices.at(level);
  auto const all = padded(type, values, pad);
  // Values below a null row are undefined in Arrow, so use arbitrary ones.
  auto const filler       = [](shape const& child) { return samples(child, 1, 0, 7).front(); };
  auto const set_validity = [&] {
    if (!has_nulls(all)) { return; }
    for (auto const& v : all) {
      check(ArrowBitmapAppend(ArrowArrayValidityBitmap(array), v.is_null() ? 0 : 1, 1));
    }
  };
  auto error         = ArrowError{};
  auto const is_runs = !type.run_ends.empty();
  if (is_runs || type.format.starts_with("+v")) {
    auto const schema = make_schema(type);
    check(ArrowArrayInitFromSchema(array, schema.get(), &error), &error);
    for (std::int64_t i = 0; i < array->n_children; ++i) { ArrowArrayRelease(array->children[i]); }
    if (is_runs) {
      build_runs(array, type, all, slices, level);
    } else {
      build_list_views(array, type, all, slices, level);
      set_validity();
    }
  } else if (type.id == cudf::type_id::STRUCT) {
    check(ArrowArrayInitFromType(array, NANOARROW_TYPE_STRUCT));
    check(ArrowArrayAllocateChildren(array, static_cast<std::int64_t>(type.children.size())));
    for (std::size_t i = 0; i < type.children.size(); ++i) {
      auto const& field = type.children[i];
      build(array->children[i], field, field_rows(all, i, filler(field)), slices, level + 1);
    }
    set_validity();
  } else if (type.id == cudf::type_id::LIST && !type.is_binary()) {
    auto const [elements, offsets] = flatten(type, all);
    auto const wide                = std::vector<std::int64_t>(offsets.begin(), offsets.end());
    auto const schema              = make_schema(type);
    check(ArrowArrayInitFromSchema(array, schema.get(), &error), &error);
    ArrowArrayRelease(array->children[0]);
    build(array->children[0], type.children[0], elements, slices, level + 1);
    set_validity();
    auto* buffer = ArrowArrayBuffer(array, 1);
    if (type.format == "+L") {
      check(ArrowBufferAppend(buffer, wide.data(), std::ssize(wide) * 8));
    } else if (type.list_size() < 0) {
      check(ArrowBufferAppend(buffer, offsets.data(), std::ssize(offsets) * 4));
    }
  } else {
    auto schema              = nanoarrow::UniqueSchema{};
    auto const [keys, codes] = encode(all);
    auto const is_dictionary = type.id == cudf::type_id::DICTIONARY32;
    ArrowSchemaInit(schema.get());
    check(ArrowSchemaSetFormat(schema.get(), type.format.c_str()));
    check(ArrowArrayInitFromSchema(array, schema.get(), &error), &error);
    check(ArrowArrayStartAppending(array));
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto const& v = all[i];
      if (is_dictionary && !v.is_null()) {
        check(ArrowArrayAppendInt(array, codes[i]));
      } else {
        append(array, type, v);
      }
    }
    if (is_dictionary) {
      check(ArrowArrayAllocateDictionary(array));
      build(array->dictionary, type.children[0], keys, slices, level + 1);
    }
  }
  // Allocate no more than Arrow requires, so that AddressSanitizer detects reads past it.
  for (std::int64_t i = 0; i < array->n_buffers; ++i) {
    auto* buffer = ArrowArrayBuffer(array, i);
    check(ArrowBufferResize(buffer, buffer->size_bytes, 1));
  }
  check(ArrowArrayFinishBuilding(array, NANOARROW_VALIDATION_LEVEL_NONE, &error), &error);
  array->offset = pad.before;
  array->length = std::ssize(values);
  array->null_count =
    is_runs ? 0
    : slices.count_nulls || type.id == cudf::type_id::EMPTY
      ? std::count_if(values.begin(), values.end(), [](auto const& v) { return v.is_null(); })
      : -1;
}

inline unique_array produce(shape const& type, rows const& values, slicing const& slices = {})
{
  auto array = unique_array{};
  build(array.get(), type, values, slices, 0);
  return array;
}

}  // namespace cudf_arrow_bridge::test
