// SPDX-License-Identifier: Apache-2.0
/// @file
/// Makes libcudf columns in host memory from values.
#pragma once

#include "testing/value.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <cudf/column/column.hpp>
#include <cudf/column/column_view.hpp>

#include <cuda/stream>

#include <cstring>
#include <memory>

namespace cudf_arrow_bridge::test {

inline cuda::stream_ref stream() { return cuda::stream_ref{cudaStream_t{}}; }

template <typename T>
rmm::device_buffer host_buffer(std::vector<T> const& values)
{
  auto const size = values.size() * sizeof(T);
  auto buffer     = rmm::device_buffer{size, stream(), host_memory_resource()};
  if (size > 0) { std::memcpy(buffer.data(), values.data(), size); }
  return buffer;
}

/// Return a null mask padded to 64 bytes like libcudf's; empty if there are no nulls.
inline rmm::device_buffer mask_of(rows const& values)
{
  auto const blocks = has_nulls(values) ? (values.size() + 511) / 512 : 0;
  auto words        = std::vector<cudf::bitmask_type>(blocks * 16);
  for (std::size_t i = 0; i < values.size() && !words.empty(); ++i) {
    if (!values[i].is_null()) { words[i / 32] |= cudf::bitmask_type{1} << (i % 32); }
  }
  return host_buffer(words);
}

template <typename T>
std::unique_ptr<cudf::column> integers(cudf::type_id id, std::vector<T> const& values)
{
  return std::make_unique<cudf::column>(cudf::data_type{id},
                                        static_cast<cudf::size_type>(values.size()),
                                        host_buffer(values),
                                        host_buffer(std::vector<char>{}),
                                        0);
}

/// Return the distinct values of rows, and the index of each row.
inline std::pair<rows, std::vector<std::int64_t>> encode(rows const& values)
{
  auto keys    = rows{};
  auto indices = std::vector<std::int64_t>{};
  for (auto const& v : values) {
    auto const found = v.is_null() ? keys.begin() : std::find(keys.begin(), keys.end(), v);
    indices.push_back(found - keys.begin());
    if (found == keys.end() && !v.is_null()) { keys.push_back(v); }
  }
  return {std::move(keys), std::move(indices)};
}

/// Return one field of struct rows; `filler` for null rows.
inline rows field_rows(rows const& values, std::size_t field, value const& filler)
{
  auto result = rows{};
  for (auto const& v : values) { result.push_back(v.is_null() ? filler : v.items()[field]); }
  return result;
}

/// Return all elements of list rows, and the offsets of the lists.
inline std::pair<rows, std::vector<std::int32_t>> flatten(rows const& values)
{
  auto elements = rows{};
  auto offsets  = std::vector<std::int32_t>{0};
  for (auto const& v : values) {
    if (!v.is_null()) { elements.insert(elements.end(), v.items().begin(), v.items().end()); }
    offsets.push_back(static_cast<std::int32_t>(elements.size()));
  }
  return {std::move(elements), std::move(offsets)};
}

inline std::unique_ptr<cudf::column> make_column(shape const& type, rows const& values)
{
  auto children = std::vector<std::unique_ptr<cudf::column>>{};
  auto data     = std::vector<char>{};
  switch (type.id) {
    case cudf::type_id::EMPTY: break;
    case cudf::type_id::STRING: {
      if (values.empty()) { break; }
      auto offsets = std::vector<std::int64_t>{0};
      for (auto const& v : values) {
        if (!v.is_null()) { data.insert(data.end(), v.text().begin(), v.text().end()); }
        offsets.push_back(static_cast<std::int64_t>(data.size()));
      }
      children.push_back(type.format == "U"
                           ? integers(cudf::type_id::INT64, offsets)
                           : integers(cudf::type_id::INT32,
                                      std::vector<std::int32_t>(offsets.begin(), offsets.end())));
      break;
    }
    case cudf::type_id::LIST: {
      auto [elements, offsets] = flatten(values);
      if (values.empty()) { offsets.clear(); }
      children.push_back(integers(cudf::type_id::INT32, offsets));
      children.push_back(make_column(type.children[0], elements));
      break;
    }
    case cudf::type_id::STRUCT:
      for (std::size_t i = 0; i < type.children.size(); ++i) {
        children.push_back(make_column(type.children[i], field_rows(values, i, value{})));
      }
      break;
    case cudf::type_id::DICTIONARY32: {
      auto const [keys, indices] = encode(values);
      children.push_back(
        type.format == "c"
          ? integers(cudf::type_id::INT8, std::vector<std::int8_t>(indices.begin(), indices.end()))
        : type.format == "l" ? integers(cudf::type_id::INT64, indices)
                             : integers(cudf::type_id::INT32,
                                        std::vector<std::int32_t>(indices.begin(), indices.end())));
      children.push_back(make_column(type.children[0], keys));
      break;
    }
    default:
      for (auto const& v : values) {
        auto const n      = v.is_null() ? __int128_t{0x55} : v.number();
        auto const* bytes = reinterpret_cast<char const*>(&n);
        data.insert(data.end(), bytes, bytes + cudf::size_of(type.type()));
      }
  }
  auto const nulls =
    std::count_if(values.begin(), values.end(), [](auto& v) { return v.is_null(); });
  auto mask = type.id == cudf::type_id::EMPTY ? host_buffer(std::vector<char>{}) : mask_of(values);
  return std::make_unique<cudf::column>(type.type(),
                                        static_cast<cudf::size_type>(values.size()),
                                        host_buffer(data),
                                        std::move(mask),
                                        static_cast<cudf::size_type>(nulls),
                                        std::move(children));
}

}  // namespace cudf_arrow_bridge::test
