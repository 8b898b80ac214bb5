// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sim::detail {

/// Random numbers (SplitMix64) that are the same on every platform.
class generator {
 public:
  explicit generator(std::uint64_t seed) : state_{seed} {}

  /// @return A number below `bound`
  std::uint64_t draw(std::uint64_t bound)
  {
    state_ += 0x9E37'79B9'7F4A'7C15;
    auto mixed = state_;
    mixed      = (mixed ^ (mixed >> 30)) * 0xBF58'476D'1CE4'E5B9;
    mixed      = (mixed ^ (mixed >> 27)) * 0x94D0'49BB'1331'11EB;
    return (mixed ^ (mixed >> 31)) % bound;
  }

 private:
  std::uint64_t state_;
};

}  // namespace sim::detail
