// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace cudf_arrow_bridge::detail {

/// Converts an IEEE 754 binary16 value to binary32. NaNs keep their sign and payload.
constexpr float half_to_float(std::uint16_t half) noexcept
{
  auto const sign     = (half & 0x8000U) << 16;
  auto const exponent = (half >> 10) & 0x1FU;
  auto const fraction = half & 0x3FFU;
  if (exponent == 0) {
    auto const value = static_cast<float>(fraction) * 0x1p-24F;  // subnormal, or 0
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
  }
  auto const wide = exponent == 0x1F ? 0xFFU : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

}  // namespace cudf_arrow_bridge::detail
