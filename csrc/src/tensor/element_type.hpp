// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/tensor.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace cudf_arrow_bridge::detail {

/// One element type of tensors, and the Arrow type of the same memory.
struct element_type {
  element_kind kind;
  std::int64_t bits;
  char const* format;     ///< Arrow's format string
  std::string_view name;  ///< NumPy's name
};

inline constexpr auto element_types = std::to_array<element_type>({
  {element_kind::integer, 8, "c", "int8"},
  {element_kind::integer, 16, "s", "int16"},
  {element_kind::integer, 32, "i", "int32"},
  {element_kind::integer, 64, "l", "int64"},
  {element_kind::unsigned_integer, 8, "C", "uint8"},
  {element_kind::unsigned_integer, 16, "S", "uint16"},
  {element_kind::unsigned_integer, 32, "I", "uint32"},
  {element_kind::unsigned_integer, 64, "L", "uint64"},
  {element_kind::floating, 16, "e", "float16"},
  {element_kind::floating, 32, "f", "float32"},
  {element_kind::floating, 64, "g", "float64"},
});

/// @return The type, or null if no column type corresponds to it
inline element_type const* find_element(element_kind kind, std::int64_t bits)
{
  // The bytes of bools are handled as small integers, because Arrow's bools are bits.
  if (kind == element_kind::boolean && bits == 8) { kind = element_kind::unsigned_integer; }
  auto const* found = std::find_if(element_types.begin(), element_types.end(), [&](auto const& t) {
    return t.kind == kind && t.bits == bits;
  });
  return found == element_types.end() ? nullptr : found;
}

/// @return The type of an Arrow array of numbers, or null for other arrays
inline element_type const* find_element(std::string_view format)
{
  auto const* found = std::find_if(
    element_types.begin(), element_types.end(), [&](auto const& t) { return t.format == format; });
  return found == element_types.end() ? nullptr : found;
}

}  // namespace cudf_arrow_bridge::detail
