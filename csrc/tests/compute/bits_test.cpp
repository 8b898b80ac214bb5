// SPDX-License-Identifier: Apache-2.0
#include "compute/bits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

namespace cudf_arrow_bridge::detail::host {
namespace {

using bools_t = std::array<std::uint8_t, 64>;

void expect_packed(packed_bools const& found, bools_t const& bools)
{
  auto const is_normal = std::ranges::all_of(bools, [](auto one) { return one <= 1; });
  EXPECT_EQ(found.is_normal, is_normal);
  if (!is_normal) { return; }
  for (std::size_t i = 0; i < bools.size(); ++i) { EXPECT_EQ(found.word >> i & 1, bools[i]) << i; }
}

TEST(HostPack, PacksOneBitOfEachBool)
{
  auto random = std::mt19937{7};
  for (int round = 0; round < 100; ++round) {
    auto bools = bools_t{};
    for (auto& one : bools) { one = random() & 1; }
    // In every fourth round, one bool is true with a byte above 1.
    if (round % 4 == 0) { bools[random() % 64] = static_cast<std::uint8_t>(2 + random() % 254); }
    expect_packed(pack(bools.data()), bools);
    expect_packed(pack_by_words(bools.data()), bools);
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::detail::host
