// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arrays/array_tree.hpp"
#include "base/parsed_type.hpp"

#include <cudf_arrow_bridge/tensor.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace cudf_arrow_bridge::detail {

constexpr std::int32_t max_dimensions = 64;  ///< of a tensor, as in NumPy and PyTorch

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
  {element_kind::boolean, 8, "c", "bool"},  // arrow.bool8
});

/// @return The type, or null if no column type corresponds to it
inline element_type const* find_element(element_kind kind, std::int64_t bits)
{
  auto const* found = std::find_if(element_types.begin(), element_types.end(), [&](auto const& t) {
    return t.kind == kind && t.bits == bits;
  });
  return found == element_types.end() ? nullptr : found;
}

/// @return The type of an Arrow array of numbers or `arrow.bool8`, or null for other arrays
inline element_type const* find_element(parsed_type const& type, std::string_view format)
{
  if (type.column.id() == cudf::type_id::BOOL8) {
    return type.element_bits == 8 ? &element_types.back() : nullptr;
  }
  auto const* found = std::find_if(
    element_types.begin(), element_types.end(), [&](auto const& t) { return t.format == format; });
  return found == element_types.end() ? nullptr : found;
}

/// @return An array of `length` numbers without nulls
inline array_node number_node(element_type const& type, void const* data, std::int64_t length)
{
  auto node       = array_node{};
  node.layout     = array_layout::fixed;
  node.length     = length;
  node.buffers[1] = data;
  node.per_row    = type.bits;
  return node;
}

/// @return The strides of a tensor in row-major order, in elements
inline std::vector<std::int64_t> row_major(std::vector<std::int64_t> const& shape)
{
  auto strides = std::vector<std::int64_t>(shape.size(), 1);
  for (auto i = shape.size(); i-- > 1;) {
    if (__builtin_mul_overflow(strides[i], shape[i], &strides[i - 1])) {
      throw std::invalid_argument{"the tensor has more elements than 64 bits can count"};
    }
  }
  return strides;
}

}  // namespace cudf_arrow_bridge::detail
