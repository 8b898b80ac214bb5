// SPDX-License-Identifier: Apache-2.0
#include "compute/bits.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

namespace cudf_arrow_bridge::detail::host {
namespace {

using bools_t = std::array<std::uint8_t, 64>;

TEST(HostPack, PacksOneBitOfEachBool)
{
  auto random = std::mt19937{7};
  for (int round = 0; round < 100; ++round) {
    auto bools = bools_t{};
    for (auto& one : bools) {
      one = random() % 2 == 0 ? 0 : static_cast<std::uint8_t>(random() % 256);
    }
    auto const word = pack(bools.data());
    for (std::size_t i = 0; i < bools.size(); ++i) {
      EXPECT_EQ(word >> i & 1, bools[i] == 0 ? 0U : 1U) << i;
    }
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::detail::host
