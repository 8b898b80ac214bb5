// SPDX-License-Identifier: Apache-2.0
#include "compute/device/mask_words.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>

namespace cudf_arrow_bridge::detail {
namespace {

constexpr std::int64_t most_rows = std::numeric_limits<cudf::size_type>::max();

/// The index of the first bit of a part, counted from address 0.
std::uint64_t first_bit(mask_words const& part)
{
  return reinterpret_cast<std::uintptr_t>(part.words) * 8 + static_cast<std::uint64_t>(part.begin);
}

/// Only addresses are compared; the memory is not read.
void expect_parts(std::size_t misalignment,
                  std::int64_t begin,
                  std::int64_t size,
                  std::size_t count)
{
  alignas(64) static auto const memory = std::array<std::byte, 64>{};
  auto const* bits                     = memory.data() + misalignment;
  auto const parts                     = mask_words_of({bits, begin, size});
  EXPECT_EQ(parts.size(), count);
  auto next = reinterpret_cast<std::uintptr_t>(bits) * 8 + static_cast<std::uint64_t>(begin);
  auto all  = std::int64_t{0};
  for (auto const& part : parts) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(part.words) % sizeof(cudf::bitmask_type), 0U);
    EXPECT_GE(part.begin, 0);
    EXPECT_LT(part.begin, 32);
    EXPECT_LE(std::int64_t{part.begin} + part.size, most_rows);
    EXPECT_EQ(part.end(), part.begin + part.size);
    EXPECT_EQ(first_bit(part), next);
    if (all + part.size < size) { EXPECT_EQ(part.size % 512, 0); }
    next += static_cast<std::uint64_t>(part.size);
    all += part.size;
  }
  EXPECT_EQ(all, size);
}

TEST(MaskWords, AreOnePartBelowTheRowLimit)
{
  for (auto const misalignment : {0U, 1U, 3U}) {
    for (auto const begin : {0, 1, 9, 40}) {
      for (auto const size : {0, 1, 33, 4000}) { expect_parts(misalignment, begin, size, 1); }
    }
  }
}

TEST(MaskWords, AreTwoPartsAboveTheRowLimit)
{
  expect_parts(0, 0, most_rows, 1);
  expect_parts(0, 32, most_rows, 1);
  expect_parts(0, 1, most_rows - 1, 1);
  expect_parts(0, 1, most_rows, 2);
  expect_parts(3, 7, most_rows - 31, 1);
  expect_parts(3, 7, most_rows - 30, 2);
  expect_parts(1, 5, most_rows, 2);
}

}  // namespace
}  // namespace cudf_arrow_bridge::detail
