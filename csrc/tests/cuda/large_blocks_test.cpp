// SPDX-License-Identifier: Apache-2.0
#include "cuda/location/large_blocks.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
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

  /// Free all spare blocks. The sizes grow by a fifth, so that every block fits one of them.
  static void drain()
  {
    for (auto bytes = 32 * mebibyte; bytes <= 128 * mebibyte; bytes += bytes / 5) {
      while (auto* memory = take_spare_block(bytes, block_alignment)) { std::free(memory); }
    }
  }

  /// Check that the spare blocks have exactly these sizes in MiB, and free them.
  static void expect_kept(std::vector<std::size_t> const& sizes)
  {
    for (auto const size : sizes) {
      auto* const memory = take_spare_block(size * mebibyte, block_alignment);
      EXPECT_NE(memory, nullptr) << size;
      std::free(memory);
    }
    for (auto bytes = 32 * mebibyte; bytes <= 128 * mebibyte; bytes += bytes / 5) {
      EXPECT_EQ(take_spare_block(bytes, block_alignment), nullptr) << bytes;
    }
  }
};

TEST_F(LargeBlocks, AreReusedForASimilarSize)
{
  auto* const memory = allocate(40 * mebibyte);
  ASSERT_TRUE(keep_spare_block(memory));
  EXPECT_EQ(take_spare_block(44 * mebibyte, block_alignment), nullptr);
  EXPECT_EQ(take_spare_block(30 * mebibyte, block_alignment), nullptr);
  EXPECT_EQ(take_spare_block(36 * mebibyte, block_alignment), memory);
  EXPECT_EQ(take_spare_block(36 * mebibyte, block_alignment), nullptr) << "taken twice";
  std::free(memory);
}

/// Return the number of bytes that keep their content in `use_huge_pages`.
std::size_t bytes_left(std::size_t block)
{
  auto* const memory =
    mmap(nullptr, block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  auto* const bytes = static_cast<char*>(memory);
  std::fill_n(bytes, block, '1');
  detail::use_huge_pages(memory, block);
  auto const left = static_cast<std::size_t>(std::count(bytes, bytes + block, '1'));
  (void)munmap(memory, block);
  return left;
}

TEST_F(LargeBlocks, OfUsedMemoryGetNewPages)
{
  // Both ends of the block may be parts of huge pages, which keep their content.
  EXPECT_LE(bytes_left(40 * mebibyte), 4 * mebibyte);
  EXPECT_EQ(bytes_left(31 * mebibyte), 31 * mebibyte) << "malloc reuses memory of this size";
}

TEST_F(LargeBlocks, OfOtherSizesAreNotKept)
{
  for (auto const bytes : {mebibyte, 31 * mebibyte, 130 * mebibyte}) {
    auto* const memory = allocate(bytes);
    EXPECT_FALSE(keep_spare_block(memory)) << bytes;
    std::free(memory);
  }
  EXPECT_FALSE(keep_spare_block(nullptr));
}

TEST_F(LargeBlocks, OfALowerAlignmentAreNotReused)
{
  auto* const memory = allocate(40 * mebibyte);
  ASSERT_TRUE(keep_spare_block(memory));
  EXPECT_EQ(take_spare_block(40 * mebibyte, std::size_t{1} << 40), nullptr);
  EXPECT_EQ(take_spare_block(40 * mebibyte, block_alignment), memory);
  std::free(memory);
}

TEST_F(LargeBlocks, OldestAreFreedAboveTheLimits)
{
  // At most four blocks are kept: here the last four.
  for (auto const size : {33, 43, 56, 73, 33}) {
    ASSERT_TRUE(keep_spare_block(allocate(static_cast<std::size_t>(size) * mebibyte)));
  }
  expect_kept({33, 43, 56, 73});
  // At most 256 MiB are kept: here the last two blocks.
  for (auto const size : {33, 43, 110, 127}) {
    ASSERT_TRUE(keep_spare_block(allocate(static_cast<std::size_t>(size) * mebibyte)));
  }
  expect_kept({127, 110});
}

TEST_F(LargeBlocks, AreUsedByOneThreadAtATime)
{
  constexpr auto bytes = 32 * mebibyte;
  auto const work      = [] {
    for (int i = 0; i < 2'000; ++i) {
      auto* memory = take_spare_block(bytes, block_alignment);
      if (memory == nullptr) { memory = allocate(bytes); }
      // If two threads had the same block, the other thread would overwrite this mark.
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

TEST_F(LargeBlocks, OfTheHostResourceAreReused)
{
  auto resource      = host_memory_resource();
  auto const stream  = cuda::stream_ref{cudaStream_t{}};
  auto* const memory = resource.allocate(stream, 40 * mebibyte, block_alignment);
  resource.deallocate(stream, memory, 40 * mebibyte, block_alignment);
  EXPECT_EQ(resource.allocate(stream, 38 * mebibyte, block_alignment), memory);
  resource.deallocate(stream, memory, 38 * mebibyte, block_alignment);
}

/// Return the flags of the mapping that contains an address, from /proc/self/smaps.
std::string flags_of(void const* memory)
{
  auto const address = reinterpret_cast<std::uintptr_t>(memory);
  auto smaps         = std::ifstream{"/proc/self/smaps"};
  auto is_inside     = false;
  for (auto line = std::string{}; std::getline(smaps, line);) {
    auto first  = std::uintptr_t{0};
    auto last   = std::uintptr_t{0};
    auto fields = std::istringstream{line};
    auto dash   = char{0};
    if (fields >> std::hex >> first >> dash >> last && dash == '-') {
      is_inside = first <= address && address < last;
    } else if (is_inside && line.starts_with("VmFlags:")) {
      return line + ' ';
    }
  }
  return "";
}

TEST_F(LargeBlocks, OfTheHostResourceUseHugePages)
{
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) {
    GTEST_SKIP() << "no huge pages in this kernel";
  }
  auto resource      = host_memory_resource();
  auto const stream  = cuda::stream_ref{cudaStream_t{}};
  auto* const memory = resource.allocate(stream, 150 * mebibyte, block_alignment);
  EXPECT_NE(flags_of(static_cast<std::byte*>(memory) + mebibyte).find(" hg "), std::string::npos);
  resource.deallocate(stream, memory, 150 * mebibyte, block_alignment);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
