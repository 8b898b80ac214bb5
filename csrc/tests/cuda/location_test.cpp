// SPDX-License-Identifier: Apache-2.0
#include "cuda/location/location.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <cuda/stream>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace cudf_arrow_bridge::test {
namespace {

cuda::stream_ref no_stream() { return cuda::stream_ref{cudaStream_t{}}; }

TEST(Locate, WithoutAGpuEverythingIsCpuMemory)
{
  if (has_gpu()) { GTEST_SKIP() << "there is a GPU"; }
  auto const here = 0;
  for (void const* pointer : {static_cast<void const*>(&here), static_cast<void const*>(nullptr)}) {
    EXPECT_EQ(locate(pointer), (memory_location{ARROW_DEVICE_CPU, -1}));
  }
}

TEST(Allocation, IsUnknownWithoutADriver)
{
  if (has_gpu()) { GTEST_SKIP() << "a GPU"; }
  auto const data = std::array<char, 8>{};
  EXPECT_FALSE(detail::ends_before(data.data(), std::size_t{1} << 30));
  EXPECT_EQ(detail::allocation_at(data.data()).size, 0U);
}

TEST(Location, HasAReadableName)
{
  auto const expected = std::to_array<std::pair<memory_location, char const*>>({
    {{}, "CPU memory"},
    {{ARROW_DEVICE_CPU, 0}, "CPU memory"},
    {{ARROW_DEVICE_CUDA, 1}, "memory of CUDA device 1"},
    {{ARROW_DEVICE_CUDA_HOST, 0}, "pinned host memory of CUDA device 0"},
    {{ARROW_DEVICE_CUDA_MANAGED, 2}, "managed memory of CUDA device 2"},
    {{99, 0}, "memory of the unknown device type 99"},
  });
  for (auto const& [location, name] : expected) { EXPECT_EQ(to_string(location), name); }
}

TEST(HostMemory, IsAlignedAndWritable)
{
  auto resource = host_memory_resource();
  for (auto const size : {1U, 63U, 64U, 65U, 4097U}) {
    for (auto const alignment : {1U, 64U, 256U, 4096U}) {
      auto* memory = resource.allocate(no_stream(), size, alignment);
      ASSERT_NE(memory, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % std::max(alignment, 64U), 0U);
      std::memset(memory, 1, size);
      resource.deallocate(no_stream(), memory, size, alignment);
    }
  }
}

TEST(HostMemory, OfZeroBytesCanBeFreed)
{
  auto resource = host_memory_resource();
  resource.deallocate(no_stream(), resource.allocate(no_stream(), 0, 64), 0, 64);
}

TEST(HostMemory, ThrowsBadAllocIfTheSizeOverflows)
{
  for (auto const less : {0U, 1U, 62U}) {
    EXPECT_THROW((void)host_memory_resource().allocate(
                   no_stream(), std::numeric_limits<std::size_t>::max() - less, 64),
                 std::bad_alloc);
  }
}

TEST(HostMemory, IsTheSameResourceInEachCall)
{ EXPECT_TRUE(host_memory_resource() == host_memory_resource()); }

}  // namespace
}  // namespace cudf_arrow_bridge::test
