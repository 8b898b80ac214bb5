// SPDX-License-Identifier: Apache-2.0
#include "arrays/foreign_array.hpp"
#include "testing/columns.hpp"
#include "testing/producer.hpp"
#include "testing/release_counter.hpp"

#include <cuda/memory_resource>

#include <gtest/gtest.h>

#include <set>

namespace cudf_arrow_bridge::test {
namespace {

/// Memory resource that returns the address set by the test and keeps track of live allocations.
struct scripted_resource {
  void* next{nullptr};
  std::multiset<void*> live{};
  int unknown_frees{0};  ///< deallocations of memory that it has not allocated

  void* allocate_sync(std::size_t, std::size_t) { return *live.insert(next); }
  void deallocate_sync(void* memory, std::size_t, std::size_t) noexcept
  {
    auto const allocation = live.find(memory);
    allocation == live.end() ? void(++unknown_frees) : void(live.erase(allocation));
  }

  void* allocate(cuda::stream_ref, std::size_t bytes, std::size_t alignment)
  { return allocate_sync(bytes, alignment); }
  void deallocate(cuda::stream_ref, void* memory, std::size_t bytes, std::size_t alignment) noexcept
  { deallocate_sync(memory, bytes, alignment); }
  bool operator==(scripted_resource const& other) const noexcept { return this == &other; }
  friend void get_property(scripted_resource const&, cuda::mr::device_accessible) noexcept {}
};

class Adopt : public ::testing::Test {
 protected:
  std::array<int, 4> foreign{};
  std::array<int, 4> more{};
  scripted_resource upstream{.next = &more};
  tracked source{produce(flat("int32"), {number(1)})};
  std::shared_ptr<detail::foreign_array> share{
    detail::foreign_array::own(source.array.get(), true, stream())};

  rmm::device_buffer take(std::int64_t size)
  {
    return detail::adopt(
      share, foreign.data(), size, stream(), rmm::device_async_resource_ref{upstream});
  }
};

TEST_F(Adopt, KeepsTheProducerUntilTheBufferIsFreed)
{
  {
    auto const buffer = take(16);
    share.reset();
    EXPECT_EQ(buffer.data(), foreign.data());
    EXPECT_EQ(buffer.size(), 16U);
    EXPECT_EQ(source.released, 0);
  }
  EXPECT_EQ(source.released, 1);
  EXPECT_TRUE(upstream.live.empty());
  EXPECT_EQ(upstream.unknown_frees, 0);
}

TEST_F(Adopt, OfZeroBytesDoesNotKeepTheProducer)
{
  auto const buffer = take(0);
  share.reset();
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(source.released, 1);
}

/// Allocates like a buffer that grows, without the copy.
TEST_F(Adopt, AllocatesNewMemoryFromUpstream)
{
  auto buffer   = take(16);
  auto resource = buffer.memory_resource();
  share.reset();
  auto* const grown = resource.allocate(stream(), 32, 8);
  EXPECT_EQ(grown, more.data());
  EXPECT_EQ(upstream.live.size(), 1U);
  resource.deallocate(stream(), grown, 32, 8);
  EXPECT_TRUE(upstream.live.empty());
  EXPECT_EQ(upstream.unknown_frees, 0);
  EXPECT_EQ(source.released, 0);
}

/// After the producer has freed its memory, upstream may allocate at the same address.
TEST_F(Adopt, FreesAnAddressReusedByUpstreamWithUpstream)
{
  auto buffer   = take(16);
  auto resource = cuda::mr::any_resource<cuda::mr::device_accessible>{buffer.memory_resource()};
  share.reset();
  buffer = rmm::device_buffer{};
  ASSERT_EQ(source.released, 1);

  upstream.next     = foreign.data();
  auto* const again = resource.allocate(stream(), 16, 8);
  EXPECT_EQ(again, foreign.data());
  resource.deallocate(stream(), again, 16, 8);
  EXPECT_TRUE(upstream.live.empty()) << "deallocated by the resource that allocated it";
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
