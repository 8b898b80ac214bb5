// SPDX-License-Identifier: Apache-2.0
/// @file
/// Views of libcudf columns in host memory: sliced, and read back as values.
#pragma once

#include "testing/value.hpp"

#include <cudf/column/column_view.hpp>

#include <cstring>

namespace cudf_arrow_bridge::test {

/// Reads byte by byte: masks of imported columns need not fill their last word.
inline bool is_null_at(cudf::column_view const& column, std::int64_t index)
{
  if (column.type().id() == cudf::type_id::EMPTY) { return true; }
  auto const* mask = reinterpret_cast<std::uint8_t const*>(column.null_mask());
  return mask != nullptr && ((mask[index / 8] >> (index % 8)) & 1) == 0;
}

inline cudf::size_type count_nulls_in(cudf::column_view const& column,
                                      std::int64_t begin,
                                      std::int64_t end)
{
  auto nulls = cudf::size_type{0};
  for (auto i = begin; i < end; ++i) { nulls += is_null_at(column, i) ? 1 : 0; }
  return nulls;
}

/// Return a slice like `cudf::slice`, which would count nulls on a GPU.
inline cudf::column_view slice(cudf::column_view const& column,
                               cudf::size_type begin,
                               cudf::size_type end)
{
  auto const first = column.offset() + begin;
  return {column.type(),
          end - begin,
          column.head<void>(),
          column.null_mask(),
          count_nulls_in(column, first, column.offset() + end),
          first,
          {column.child_begin(), column.child_end()}};
}

inline __int128_t read_integer_at(void const* head,
                                  std::int64_t index,
                                  std::size_t width,
                                  bool sign)
{
  auto const* bytes =
    static_cast<std::uint8_t const*>(head) + static_cast<std::size_t>(index) * width;
  auto result = __int128_t{sign && (bytes[width - 1] & 0x80) != 0 ? -1 : 0};
  std::memcpy(&result, bytes, width);
  return result;
}

/// Return the row at an index that counts from the head of the buffers.
inline value read_at(cudf::column_view const& column, shape const& type, std::int64_t index)
{
  if (is_null_at(column, index)) { return {}; }
  auto const offset_at = [&](std::int64_t i) {
    auto const offsets = column.child(0);
    return static_cast<std::int64_t>(read_integer_at(
      offsets.head<void>(), offsets.offset() + i, cudf::size_of(offsets.type()), true));
  };
  switch (type.id) {
    case cudf::type_id::STRING: {
      auto const begin = offset_at(index);
      auto const size  = offset_at(index + 1) - begin;
      return {
        std::string(column.head<char>() + (size == 0 ? 0 : begin), static_cast<std::size_t>(size))};
    }
    case cudf::type_id::LIST: {
      auto const element = column.child(1);
      auto items         = rows{};
      for (auto i = offset_at(index); i < offset_at(index + 1); ++i) {
        items.push_back(read_at(element, type.children[0], element.offset() + i));
      }
      return {std::move(items)};
    }
    case cudf::type_id::STRUCT: {
      auto items = rows{};
      for (std::size_t i = 0; i < type.children.size(); ++i) {
        items.push_back(
          read_at(column.child(static_cast<cudf::size_type>(i)), type.children[i], index));
      }
      return {std::move(items)};
    }
    case cudf::type_id::DICTIONARY32: {
      auto const indices = column.child(0);
      auto const keys    = column.child(1);
      auto const key     = static_cast<std::int64_t>(
        read_integer_at(indices.head<void>(), index, cudf::size_of(indices.type()), true));
      return read_at(keys, type.children[0], keys.offset() + key);
    }
    default:
      return number(read_integer_at(
        column.head<void>(), index, cudf::size_of(column.type()), type.is_signed()));
  }
}

inline rows read_rows(cudf::column_view const& column, shape const& type)
{
  auto result = rows{};
  for (cudf::size_type i = 0; i < column.size(); ++i) {
    result.push_back(read_at(column, type, column.offset() + i));
  }
  return result;
}

}  // namespace cudf_arrow_bridge::test
