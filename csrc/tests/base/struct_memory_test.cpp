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
using detail::reallocate_struct;
using detail::struct_arena_scope;

/// Memory filled with one byte value. The destructor checks that it still has this value.
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

/// Return `count` allocations of random sizes. Every 20th may be large.
std::vector<filled> make_pieces(std::mt19937& random, int count)
{
  auto result = std::vector<filled>{};
  for (int i = 0; i < count; ++i) {
    auto const most = i % 20 == 0 ? 20'000 : 300;
    result.emplace_back(std::uniform_int_distribution<std::int64_t>{0, most}(random), i % 256);
  }
  return result;
}

/// Return an owner and a weak pointer to it.
std::pair<std::shared_ptr<void const>, std::weak_ptr<void const>> make_owner()
{
  auto owner = std::make_shared<int const>(0);
  return {owner, owner};
}

TEST(StructMemory, ReleasesTheOwnerWithTheLastAllocation)
{
  auto random = std::mt19937{20261123};
  for (std::size_t expected : {0, 100, 10'000, 1'000'000}) {
    auto [owner, seen] = make_owner();
    auto pieces        = std::vector<filled>{};
    {
      auto const together = struct_arena_scope{expected, std::move(owner)};
      pieces              = make_pieces(random, 500);
      // Free some of them inside the scope.
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

TEST(StructMemory, ReleasesTheOwnerAfterTwoThreadsFreeIt)
{
  auto random = std::mt19937{20261124};
  for (int round = 0; round < 50; ++round) {
    auto [owner, seen] = make_owner();
    auto mine = std::vector<filled>{}, theirs = std::vector<filled>{};
    {
      auto const together = struct_arena_scope{1000, std::move(owner)};
      mine                = make_pieces(random, 50);
      theirs              = make_pieces(random, 50);
    }
    auto other = std::thread{[&] { theirs.clear(); }};
    mine.clear();
    other.join();
    EXPECT_TRUE(seen.expired());
  }
}

TEST(StructMemory, WithoutAllocationsReleasesTheOwnerAtTheEndOfTheScope)
{
  auto [owner, seen] = make_owner();
  {
    auto const together = struct_arena_scope{1000, std::move(owner)};
    EXPECT_FALSE(seen.expired());
  }
  EXPECT_TRUE(seen.expired());
}

TEST(StructMemory, FreedInTheScopeReleasesTheOwnerAtTheEndOfTheScope)
{
  auto [owner, seen] = make_owner();
  {
    auto const together = struct_arena_scope{1000, std::move(owner)};
    free_struct(allocate_struct(10));
    EXPECT_FALSE(seen.expired());
  }
  EXPECT_TRUE(seen.expired());
}

TEST(StructMemory, ComesFromTheInnermostScope)
{
  auto [outer_owner, outer] = make_owner();
  auto [inner_owner, inner] = make_owner();
  {
    auto const around = struct_arena_scope{1000, std::move(outer_owner)};
    auto within       = std::vector<filled>{};
    {
      auto const together = struct_arena_scope{1000, std::move(inner_owner)};
      within.emplace_back(10, 1);
    }
    auto const after = filled{10, 2};
    within.clear();
    EXPECT_TRUE(inner.expired());
    EXPECT_FALSE(outer.expired());
  }
  EXPECT_TRUE(outer.expired());
}

TEST(StructMemory, OfOtherThreadsIsNotInTheArena)
{
  auto [owner, seen] = make_owner();
  auto theirs        = std::vector<filled>{};
  {
    auto const together = struct_arena_scope{1000, std::move(owner)};
    std::thread{[&] { theirs.emplace_back(10, 1); }}.join();
  }
  EXPECT_TRUE(seen.expired());
}

TEST(StructMemory, KeepsItsContentWhenItIsReallocated)
{
  auto [owner, seen] = make_owner();
  auto grown         = filled{10, 1};
  {
    auto const together = struct_arena_scope{1000, std::move(owner)};
    grown.resize(20);
    auto shrunk = filled{30, 2};
    shrunk.resize(5);
    free_struct(reallocate_struct(nullptr, 10));
    EXPECT_FALSE(seen.expired());
  }
  EXPECT_FALSE(seen.expired());
  // Outside of a scope, a reallocation moves the memory out of the arena.
  grown.resize(40);
  EXPECT_TRUE(seen.expired());
}

/// Destroyed after all other static objects, including the core's: it is constructed first.
struct freed_at_exit {
  void* memory{nullptr};
  freed_at_exit() = default;
  ~freed_at_exit() { free_struct(memory); }
};
[[gnu::init_priority(101)]] freed_at_exit kept;

TEST(StructMemory, MayBeFreedDuringTheExit)
{
  auto const use_and_exit = [] {
    {
      auto const together = struct_arena_scope{0};
      kept.memory         = allocate_struct(4000);
    }
    std::exit(0);
  };
  EXPECT_EXIT(use_and_exit(), ::testing::ExitedWithCode(0), "");
}

TEST(StructMemory, FreeAcceptsNull) { free_struct(nullptr); }

}  // namespace
}  // namespace cudf_arrow_bridge::test
