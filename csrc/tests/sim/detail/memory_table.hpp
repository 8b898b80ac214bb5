// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/memory.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace sim::detail {

/// A block of memory, allocated or free.
struct block {
  std::byte* data;
  std::size_t capacity;
  memory_kind kind;
  int device;
  std::size_t size{0};  ///< requested size
  bool live{false};
  bool pooled{false};         ///< allocated in stream order, like memory of `cudaMallocAsync`
  bool lasting{false};        ///< not counted and not freed by `clear`: it belongs to a pool
  std::uint64_t num_uses{0};  ///< number of allocations
};

/// Fills freed memory with a byte, even if it has been allocated again.
void scribble(std::byte* data, std::size_t size, std::byte value);

/**
 * @brief All memory of the machine. The machine's mutex guards it.
 *
 * Free blocks are kept in lists, newest first. Each size class has one list of blocks that any
 * stream may use, and one list per stream of blocks whose deallocation has not run on that stream.
 */
class memory_table {
 public:
  memory_table() = default;
  ~memory_table() { clear(); }

  memory_table(memory_table const&)            = delete;
  memory_table& operator=(memory_table const&) = delete;

  /// @param stream `id` of the stream that will use the memory; 0: any
  void* allocate(memory_kind kind, int device, std::size_t size, std::uint64_t stream);

  /// @return The allocated block that contains `address`, or null
  [[nodiscard]] block const* find(void const* address) const;

  /// Frees and overwrites memory; any stream may reuse it. @return Whether it was allocated
  bool deallocate(void* memory);

  /// Frees memory that only `stream` may reuse for now. @return The block; null if not allocated
  block* deallocate_on(std::uint64_t stream, void* memory);

  /// Called when the deallocation runs on `stream`. Lets any stream reuse the block, unless the
  /// block is allocated again.
  void stream_passed(std::uint64_t stream, block* freed, std::uint64_t num_uses);

  [[nodiscard]] std::size_t num_live() const { return num_live_; }

  [[nodiscard]] std::string describe_live() const;

  /// Frees all memory except lasting blocks.
  void clear();

  /// Marks the block of newly allocated memory as lasting.
  void* keep(void* memory);

 private:
  using size_class = std::tuple<std::uint64_t, memory_kind, int, std::size_t>;

  block* take_free(size_class const& wanted);
  block* live_block(void* memory);

  std::map<std::uintptr_t, block> blocks_;
  std::map<size_class, std::vector<block*>> free_;
  std::size_t num_live_{0};
};

}  // namespace sim::detail
