// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace cudf_arrow_bridge::detail {

/// Converts an IEEE 754 binary16 value to binary32. NaNs keep their sign and payload. All cases are
/// computed and one is chosen, so that compilers vectorise loops of it.
constexpr float half_to_float(std::uint16_t half) noexcept
{
  auto const sign      = (half & 0x8000U) << 16;
  auto const exponent  = half & 0x7C00U;
  auto const magnitude = (half & 0x7FFFU) << 13;
  auto const rebias    = (exponent == 0x7C00U ? 255U - 31U : 127U - 15U) << 23;
  auto const small     = static_cast<float>(half & 0x3FF) * 0x1p-24F;  // subnormal, or 0
  auto const value     = exponent == 0 ? std::bit_cast<std::uint32_t>(small) : magnitude + rebias;
  return std::bit_cast<float>(sign | value);
}

}  // namespace cudf_arrow_bridge::detail
