// SPDX-License-Identifier: Apache-2.0
#include "base/struct_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

using detail::allocate_struct;
using detail::free_struct;
using detail::joint_struct_memory;
using detail::reallocate_struct;

/// Memory that is full of one byte, which it must still hold when it is freed.
class filled {
 public:
  filled(std::int64_t size, int byte) : memory_{allocate_struct(size)}, size_{size}, byte_{byte}
  {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory_) % 16, 0);
    std::memset(memory_, byte, static_cast<std::size_t>(size));
  }
  filled(filled&& other) noexcept
    : memory_{std::exchange(other.memory_, nullptr)}, size_{other.size_}, byte_{other.byte_}
  {
  }
  filled& operator=(filled&& other) noexcept
  {
    std::swap(memory_, other.memory_);
    std::swap(size_, other.size_);
    std::swap(byte_, other.byte_);
    return *this;
  }
  filled(filled const&)            = delete;
  filled& operator=(filled const&) = delete;
  ~filled()
  {
    if (memory_ != nullptr) { check(size_); }
    free_struct(memory_);
  }

  void resize(std::int64_t size)
  {
    memory_ = reallocate_struct(memory_, size);
    check(std::min(size, size_));
    std::memset(memory_, byte_, static_cast<std::size_t>(size));
    size_ = size;
  }

 private:
  void check(std::int64_t size) const
  {
    auto const* bytes = static_cast<unsigned char const*>(memory_);
    EXPECT_TRUE(std::all_of(bytes, bytes + size, [&](auto byte) { return byte == byte_; }));
  }

  void* memory_;
  std::int64_t size_;
  int byte_;
};

/// Up to `count` pieces of all sizes, few of which are long.
std::vector<filled> make_pieces(std::mt19937& random, int count)
{
  auto result = std::vector<filled>{};
  for (int i = 0; i < count; ++i) {
    auto const most = i % 20 == 0 ? 20'000 : 300;
    result.emplace_back(std::uniform_int_distribution<std::int64_t>{0, most}(random), i % 256);
  }
  return result;
}

/// An owner, and what tells whether it is still there.
std::pair<std::shared_ptr<void const>, std::weak_ptr<void const>> make_owner()
{
  auto owner = std::make_shared<int const>(0);
  return {owner, owner};
}

TEST(StructMemory, OfPiecesInARowGoesWithTheLastOfThem)
{
  auto random = std::mt19937{20261123};
  for (std::size_t expected : {0, 100, 10'000, 1'000'000}) {
    auto [owner, seen] = make_owner();
    auto pieces        = std::vector<filled>{};
    {
      auto const together = joint_struct_memory{expected, std::move(owner)};
      pieces              = make_pieces(random, 500);
      // Some go at once.
      pieces.erase(pieces.end() - 100, pieces.end());
    }
    std::ranges::shuffle(pieces, random);
    while (!pieces.empty()) {
      EXPECT_FALSE(seen.expired());
      pieces.pop_back();
    }
    EXPECT_TRUE(seen.expired());
  }
}

TEST(StructMemory, IsGivenBackByWhicheverThreadComesLast)
{
  auto random = std::mt19937{20261124};
  for (int round = 0; round < 50; ++round) {
    auto [owner, seen] = make_owner();
    auto mine = std::vector<filled>{}, theirs = std::vector<filled>{};
    {
      auto const together = joint_struct_memory{1000, std::move(owner)};
      mine                = make_pieces(random, 50);
      theirs              = make_pieces(random, 50);
    }
    auto other = std::thread{[&] { theirs.clear(); }};
    mine.clear();
    other.join();
    EXPECT_TRUE(seen.expired());
  }
}

TEST(StructMemory, OfNoPiecesIsGivenBackAtOnce)
{
  auto [owner, seen] = make_owner();
  {
    auto const together = joint_struct_memory{1000, std::move(owner)};
    EXPECT_FALSE(seen.expired());
  }
  EXPECT_TRUE(seen.expired());
}

TEST(StructMemory, OfPiecesThatGoBeforeItsEndIsGivenBackThere)
{
  auto [owner, seen] = make_owner();
  {
    auto const together = joint_struct_memory{1000, std::move(owner)};
    free_struct(allocate_struct(10));
    EXPECT_FALSE(seen.expired());
  }
  EXPECT_TRUE(seen.expired());
}

TEST(StructMemory, IsThatOfTheInnermost)
{
  auto [outer_owner, outer] = make_owner();
  auto [inner_owner, inner] = make_owner();
  {
    auto const around = joint_struct_memory{1000, std::move(outer_owner)};
    auto within       = std::vector<filled>{};
    {
      auto const together = joint_struct_memory{1000, std::move(inner_owner)};
      within.emplace_back(10, 1);
    }
    auto const after = filled{10, 2};
    within.clear();
    EXPECT_TRUE(inner.expired());
    EXPECT_FALSE(outer.expired());
  }
  EXPECT_TRUE(outer.expired());
}

TEST(StructMemory, IsNotForOtherThreads)
{
  auto [owner, seen] = make_owner();
  auto theirs        = std::vector<filled>{};
  {
    auto const together = joint_struct_memory{1000, std::move(owner)};
    std::thread{[&] { theirs.emplace_back(10, 1); }}.join();
  }
  EXPECT_TRUE(seen.expired());
}

TEST(StructMemory, ThatIsReallocatedKeepsWhatFits)
{
  auto [owner, seen] = make_owner();
  auto grown         = filled{10, 1};
  {
    auto const together = joint_struct_memory{1000, std::move(owner)};
    grown.resize(20);
    auto shrunk = filled{30, 2};
    shrunk.resize(5);
    free_struct(reallocate_struct(nullptr, 10));
    EXPECT_FALSE(seen.expired());
  }
  EXPECT_FALSE(seen.expired());
  // Where nothing is laid out in a row, a piece is on its own.
  grown.resize(40);
  EXPECT_TRUE(seen.expired());
}

/// Freed last of all static objects, those of the core included, as it is made first.
struct freed_at_exit {
  void* memory{nullptr};
  freed_at_exit() = default;
  ~freed_at_exit() { free_struct(memory); }
};
[[gnu::init_priority(101)]] freed_at_exit kept;

TEST(StructMemory, MayBeGivenBackDuringTheExit)
{
  auto const use_and_exit = [] {
    {
      auto const together = joint_struct_memory{0};
      kept.memory         = allocate_struct(4000);
    }
    std::exit(0);
  };
  EXPECT_EXIT(use_and_exit(), ::testing::ExitedWithCode(0), "");
}

TEST(StructMemory, OfNothingIsFreed) { free_struct(nullptr); }

}  // namespace
}  // namespace cudf_arrow_bridge::test
