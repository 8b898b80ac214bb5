// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/memory.hpp"

#include <rmm/resource_ref.hpp>

#include <cuda/memory_resource>
#include <cuda/stream>

#include <cstddef>

namespace sim {

/**
 * @brief A stream-ordered pool of one kind of memory, which reuses memory as early as rmm's pools.
 *
 * Memory that is freed on a stream is reused on that stream immediately, and on other streams after
 * the deallocation has run. The deallocation enqueues an operation that overwrites the memory, so
 * that reads which are not ordered before it see wrong data.
 */
class pool_resource {
 public:
  explicit pool_resource(memory_kind kind = memory_kind::device, int device = 0)
    : kind_{kind}, device_{device}
  {
  }

  void* allocate(cuda::stream_ref stream, std::size_t bytes, std::size_t = 256)
  { return allocate_on(stream.get(), kind_, device_, bytes); }

  void deallocate(cuda::stream_ref stream, void* memory, std::size_t, std::size_t = 256) noexcept
  { deallocate_on(stream.get(), memory); }

  void* allocate_sync(std::size_t bytes, std::size_t = 256)
  { return sim::allocate(kind_, device_, bytes); }

  void deallocate_sync(void* memory, std::size_t, std::size_t = 256) noexcept
  { sim::deallocate(memory); }

  bool operator==(pool_resource const&) const noexcept = default;

  friend void get_property(pool_resource const&, cuda::mr::device_accessible) noexcept {}

 private:
  memory_kind kind_;
  int device_;
};

}  // namespace sim
