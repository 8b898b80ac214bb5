// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "testing/columns.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <cuda/memory_resource>
#include <cuda/stream>

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <memory>

namespace cudf_arrow_bridge::test {

/// Allocates host memory, and records live allocations. Its copies, as in buffers, share the
/// record.
class counting_resource {
 public:
  [[nodiscard]] bool gave(void const* address) const { return given_->contains(address); }

  [[nodiscard]] bool has_all_back() const { return given_->empty(); }

  [[nodiscard]] std::size_t bytes() const
  {
    auto sum = std::size_t{0};
    for (auto const& [address, size] : *given_) { sum += size; }
    return sum;
  }

  void* allocate(cuda::stream_ref on, std::size_t size, std::size_t alignment)
  {
    auto* const memory = host_memory_resource().allocate(on, size, alignment);
    (*given_)[memory]  = size;
    return memory;
  }

  void deallocate(cuda::stream_ref on, void* memory, std::size_t size, std::size_t align) noexcept
  {
    EXPECT_EQ(given_->erase(memory), 1U);
    host_memory_resource().deallocate(on, memory, size, align);
  }

  void* allocate_sync(std::size_t size, std::size_t alignment)
  { return allocate(stream(), size, alignment); }

  void deallocate_sync(void* memory, std::size_t size, std::size_t alignment) noexcept
  { deallocate(stream(), memory, size, alignment); }

  bool operator==(counting_resource const& other) const noexcept { return given_ == other.given_; }

  friend void get_property(counting_resource const&, cuda::mr::device_accessible) noexcept {}

 private:
  using sizes_t = std::map<void const*, std::size_t>;
  std::shared_ptr<sizes_t> given_{std::make_shared<sizes_t>()};
};

}  // namespace cudf_arrow_bridge::test
