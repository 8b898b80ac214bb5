// SPDX-License-Identifier: Apache-2.0
#include "cuda/location/large_blocks.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

using detail::keep_spare_block;
using detail::take_spare_block;

constexpr auto mebibyte        = std::size_t{1} << 20;
constexpr auto block_alignment = std::size_t{64};

void* allocate(std::size_t bytes) { return std::aligned_alloc(block_alignment, bytes); }

class LargeBlocks : public ::testing::Test {
 protected:
  void SetUp() override { drain(); }
  void TearDown() override { drain(); }

  /// Takes what is left over; each size in steps of less than a quarter.
  static void drain()
  {
    for (auto bytes = 4 * mebibyte; bytes <= 128 * mebibyte; bytes += bytes / 5) {
      while (auto* memory = take_spare_block(bytes, block_alignment)) { std::free(memory); }
    }
  }
};

TEST_F(LargeBlocks, AreTakenForAboutTheirSize)
{
  auto* const memory = allocate(10 * mebibyte);
  ASSERT_TRUE(keep_spare_block(memory));
  EXPECT_EQ(take_spare_block(11 * mebibyte, block_alignment), nullptr);
  EXPECT_EQ(take_spare_block(7 * mebibyte, block_alignment), nullptr);
  EXPECT_EQ(take_spare_block(9 * mebibyte, block_alignment), memory);
  EXPECT_EQ(take_spare_block(9 * mebibyte, block_alignment), nullptr) << "taken twice";
  std::free(memory);
}

TEST_F(LargeBlocks, OfOtherSizesAreNotKept)
{
  for (auto const bytes : {mebibyte, 3 * mebibyte, 130 * mebibyte}) {
    auto* const memory = allocate(bytes);
    EXPECT_FALSE(keep_spare_block(memory)) << bytes;
    std::free(memory);
  }
  EXPECT_FALSE(keep_spare_block(nullptr));
}

TEST_F(LargeBlocks, ThatAreNotAlignedAreNotTaken)
{
  auto* const memory = allocate(10 * mebibyte);
  ASSERT_TRUE(keep_spare_block(memory));
  EXPECT_EQ(take_spare_block(10 * mebibyte, std::size_t{1} << 40), nullptr);
  EXPECT_EQ(take_spare_block(10 * mebibyte, block_alignment), memory);
  std::free(memory);
}

TEST_F(LargeBlocks, FreedFirstMakeRoomForOthers)
{
  // Four at most: of these the last.
  for (auto const size : {10, 16, 26, 42, 68, 110}) {
    ASSERT_TRUE(keep_spare_block(allocate(static_cast<std::size_t>(size) * mebibyte)));
  }
  EXPECT_EQ(take_spare_block(10 * mebibyte, block_alignment), nullptr);
  EXPECT_EQ(take_spare_block(16 * mebibyte, block_alignment), nullptr);
  // And 256 MiB at most: with this one the one before and no other.
  ASSERT_TRUE(keep_spare_block(allocate(127 * mebibyte)));
  for (auto const size : {26, 42, 68}) {
    EXPECT_EQ(take_spare_block(static_cast<std::size_t>(size) * mebibyte, block_alignment),
              nullptr);
  }
  for (auto const size : {127, 110}) {
    auto* const memory =
      take_spare_block(static_cast<std::size_t>(size) * mebibyte, block_alignment);
    EXPECT_NE(memory, nullptr);
    std::free(memory);
  }
}

TEST_F(LargeBlocks, AreOneThreadsAtATime)
{
  constexpr auto bytes = 4 * mebibyte;
  auto const work      = [] {
    for (int i = 0; i < 2'000; ++i) {
      auto* memory = take_spare_block(bytes, block_alignment);
      if (memory == nullptr) { memory = allocate(bytes); }
      // Were a block two threads' at once, the other one would overwrite this.
      auto* const mark = static_cast<int*>(memory);
      *mark            = i;
      std::this_thread::yield();
      EXPECT_EQ(*mark, i);
      if (!keep_spare_block(memory)) { std::free(memory); }
    }
  };
  auto threads = std::vector<std::jthread>{};
  for (int i = 0; i < 4; ++i) { threads.emplace_back(work); }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
