// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rmm/device_buffer.hpp>

#include <cuda/memory_resource>
#include <cuda/stream>

#include <cstddef>
#include <memory>
#include <vector>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Allocates the temporary memory of one export or import, all of it on one stream.
 *
 * It suballocates blocks of the current device resource, which is where libcudf allocates temporary
 * memory, and frees the blocks at the end. Freed memory is used again by later work on the stream.
 * With rmm's default resource, whose `cudaFree` waits for the device, most calls thus wait once and
 * not for each temporary buffer.
 *
 * Copies share the blocks. Not thread-safe.
 */
class scratch_resource {
 public:
  /// Allocations are multiples of this. The bytes after the requested ones may be used.
  static constexpr std::size_t granularity = 512;

  void* allocate(cuda::stream_ref stream, std::size_t bytes, std::size_t alignment = granularity);
  void deallocate(cuda::stream_ref stream,
                  void* memory,
                  std::size_t bytes,
                  std::size_t alignment = granularity) noexcept;
  void* allocate_sync(std::size_t bytes, std::size_t alignment = granularity);
  void deallocate_sync(void* memory,
                       std::size_t bytes,
                       std::size_t alignment = granularity) noexcept;

  bool operator==(scratch_resource const&) const noexcept = default;

  friend void get_property(scratch_resource const&, cuda::mr::device_accessible) noexcept {}

 private:
  /// Its memory is used from the start. Freed memory is used again if it is the last that was
  /// allocated, or if nothing is left in the block.
  struct block {
    rmm::device_buffer memory;
    std::size_t used{0};
    std::size_t num_allocations{0};
  };

  std::shared_ptr<std::vector<block>> blocks_{std::make_shared<std::vector<block>>()};
};

}  // namespace cudf_arrow_bridge::detail
