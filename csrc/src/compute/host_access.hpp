// SPDX-License-Identifier: Apache-2.0
/// @file
/// Access to buffers in host memory, for operations that run on the CPU.
#pragma once

#include "compute/buffers.hpp"

#include <cudf/column/column.hpp>
#include <cudf/utilities/type_dispatcher.hpp>

#include <rmm/device_buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace cudf_arrow_bridge::detail::host {

/// Reads a value by its index. Arrow allows misaligned buffers, hence `memcpy`.
template <typename T>
T load(void const* values, std::int64_t index)
{
  T value;
  std::memcpy(
    &value, static_cast<std::byte const*>(values) + index * std::int64_t{sizeof(T)}, sizeof(T));
  return value;
}

/// Reads a signed integer of 1, 2, 4 or 8 bytes, possibly misaligned.
inline std::int64_t read_integer(void const* source, std::int64_t width)
{
  switch (width) {
    case 1: return load<std::int8_t>(source, 0);
    case 2: return load<std::int16_t>(source, 0);
    case 4: return load<std::int32_t>(source, 0);
    default: return load<std::int64_t>(source, 0);
  }
}

/**
 * @brief Reads an index of a dictionary, zero-extended if its type is unsigned.
 *
 * A uint64 index above the int64 range reads as negative, and is out of bounds anyway.
 *
 * @param fail Throws the error for an index that is out of bounds; called with its text
 */
template <typename Fail>
std::int64_t read_index(
  void const* source, std::int64_t width, bool is_unsigned, std::int64_t num_keys, Fail const& fail)
{
  auto const low_bytes =
    is_unsigned && width < 8 ? (std::int64_t{1} << (8 * width)) - 1 : std::int64_t{-1};
  auto const index = read_integer(source, width) & low_bytes;
  if (index < 0 || index >= num_keys) {
    fail("expected an index of " + std::to_string(num_keys) + " dictionary values, got " +
         std::to_string(index));
  }
  return index;
}

inline bool bit_at(void const* bits, std::int64_t index)
{ return ((static_cast<std::uint8_t const*>(bits)[index / 8] >> (index % 8)) & 1) != 0; }

/// @return Whether a row, counted from the column's offset, is null
inline bool is_null_row(cudf::column_view const& column, std::int64_t row)
{
  auto const* mask = column.null_mask();
  return mask != nullptr && !bit_at(mask, column.offset() + row);
}

inline rmm::device_buffer allocate(std::int64_t size, execution const& exec)
{ return rmm::device_buffer{static_cast<std::size_t>(size), exec.stream, exec.mr}; }

/// A buffer of the results of `convert` for `size` values.
template <typename From, typename To, typename Convert>
rmm::device_buffer map_values(void const* values,
                              std::int64_t size,
                              execution const& exec,
                              Convert convert)
{
  auto result = allocate(size * std::int64_t{sizeof(To)}, exec);
  auto* out   = static_cast<To*>(result.data());
  for (std::int64_t i = 0; i < size; ++i) {
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): 8-bit values are numbers here.
    out[i] = static_cast<To>(convert(load<From>(values, i)));
  }
  return result;
}

/// A buffer as a span of values.
template <typename T>
std::span<T> values_of(rmm::device_buffer& buffer)
{ return {static_cast<T*>(buffer.data()), buffer.size() / sizeof(T)}; }

/// Offsets of strings or lists.
struct new_offsets {
  std::unique_ptr<cudf::column> column;
  std::int64_t total;  ///< the last offset
};

/// Makes offsets from the results of `length_at` for the index of each row: values of `Offset`, or
/// of 64 bits if the total needs them.
template <typename Offset, typename LengthAt>
new_offsets make_offsets(std::int64_t rows, execution const& exec, LengthAt length_at)
{
  auto buffer = allocate((rows + 1) * std::int64_t{sizeof(Offset)}, exec);
  auto* out   = static_cast<Offset*>(buffer.data());
  auto total  = std::int64_t{0};
  *out++      = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    *out++ = static_cast<Offset>(total += length_at(row));
  }
  if (total > std::numeric_limits<Offset>::max()) {
    return make_offsets<std::int64_t>(rows, exec, length_at);
  }
  auto const type = cudf::data_type{cudf::type_to_id<Offset>()};
  return {make_column(type, rows + 1, std::move(buffer), exec), total};
}

/// Calls `use` with a value of the signed integer that is as wide as a fixed-width type.
template <typename Use>
auto with_width(cudf::data_type type, Use use)
{
  switch (cudf::size_of(type)) {
    case 1: return use(std::int8_t{});
    case 2: return use(std::int16_t{});
    case 4: return use(std::int32_t{});
    case 8: return use(std::int64_t{});
    default: return use(__int128_t{});
  }
}

/// Calls `use` with a value of the integer that a fixed-width type is stored as: an unsigned one
/// for unsigned integers.
template <typename Use>
auto with_stored(cudf::data_type type, Use use)
{
  switch (type.id()) {
    case cudf::type_id::UINT8: return use(std::uint8_t{});
    case cudf::type_id::UINT16: return use(std::uint16_t{});
    case cudf::type_id::UINT32: return use(std::uint32_t{});
    case cudf::type_id::UINT64: return use(std::uint64_t{});
    default: return with_width(type, use);
  }
}

}  // namespace cudf_arrow_bridge::detail::host
