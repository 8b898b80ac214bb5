// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace sim {

inline constexpr std::size_t filled_size = 100;  ///< bytes

/// @return Whether each of `filled_size` bytes is `value`
inline bool holds(void const* data, std::byte value)
{
  auto const bytes = std::span{static_cast<std::byte const*>(data), filled_size};
  return std::ranges::all_of(bytes, [=](std::byte b) { return b == value; });
}

}  // namespace sim
