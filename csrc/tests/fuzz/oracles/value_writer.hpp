// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace cudf_arrow_bridge::fuzz {

/// Writes values one after the other, so that equal values give equal strings.
class value_writer {
 public:
  explicit value_writer(std::string& target) : target_{target} {}

  void null() { target_ += 'n'; }

  void number(__int128_t value)
  {
    target_ += 'i';
    target_.append(reinterpret_cast<char const*>(&value), sizeof(value));
  }

  void real(double value)
  {
    // All NaNs are equal: conversions may change their payload.
    number(std::isnan(value) ? -1 : std::bit_cast<std::int64_t>(value));
  }

  /// IEEE 754 binary16, decoded here because nanoarrow 0.9 decodes subnormals wrongly.
  void half(std::uint16_t value)
  {
    auto const sign     = (value & 0x8000) == 0 ? 1.0 : -1.0;
    auto const exponent = (value >> 10) & 31;
    auto const fraction = value & 1023;
    if (exponent == 31) { return real(fraction == 0 ? sign * HUGE_VAL : std::nan("")); }
    real(sign * std::ldexp(exponent == 0 ? fraction : fraction + 1024, std::max(exponent, 1) - 25));
  }

  void text(std::string_view value)
  {
    target_ += 's';
    number(static_cast<std::int64_t>(value.size()));
    target_ += value;
  }

  void list(std::int64_t size)
  {
    target_ += 'l';
    number(size);
  }

  void structure() { target_ += 't'; }

 private:
  std::string& target_;
};

}  // namespace cudf_arrow_bridge::fuzz
