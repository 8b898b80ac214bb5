// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace cudf_arrow_bridge::fuzz {

/// A fast generator, the same everywhere for the same seed (splitmix64).
class random_source {
 public:
  explicit random_source(std::uint64_t seed) noexcept : state_{seed} {}

  std::uint64_t bits() noexcept
  {
    state_ += 0x9e3779b97f4a7c15;
    auto z = state_;
    z      = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z      = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  /// Less than `bound`, which is at least 1.
  std::int64_t below(std::int64_t bound) noexcept
  { return static_cast<std::int64_t>((bits() >> 1) % static_cast<std::uint64_t>(bound)); }

  bool percent(int chance) noexcept { return below(100) < chance; }

  template <typename Range>
  auto& pick(Range& range) noexcept
  { return range[static_cast<std::size_t>(below(static_cast<std::int64_t>(std::size(range))))]; }

 private:
  std::uint64_t state_;
};

}  // namespace cudf_arrow_bridge::fuzz
