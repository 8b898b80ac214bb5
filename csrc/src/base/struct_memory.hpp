// SPDX-License-Identifier: Apache-2.0
/// @file
/// Memory of the C structs that nanoarrow creates, and of their strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cudf_arrow_bridge::detail {

struct struct_arena;

/**
 * @brief During its lifetime, allocations of nanoarrow on this thread are adjacent in memory.
 *
 * The memory is freed with its last piece, on any thread. A consumer that keeps one child of many
 * keeps the memory of all structs, as it keeps their buffers.
 *
 * A column needs some seven pieces. glibc's malloc caches seven pieces of each size. For tables
 * with more columns, creating and releasing the structs takes two to three times as long with
 * malloc.
 */
class struct_arena_scope {
 public:
  /**
   * @throws std::bad_alloc if memory runs out
   *
   * @param expected Bytes that the pieces will take
   * @param owner Lives until the last piece has been freed; may be null
   */
  explicit struct_arena_scope(std::size_t expected, std::shared_ptr<void const> owner = nullptr);
  ~struct_arena_scope();
  struct_arena_scope(struct_arena_scope const&)            = delete;
  struct_arena_scope& operator=(struct_arena_scope const&) = delete;

 private:
  struct_arena* arena_;
  struct_arena* outer_;  ///< the enclosing arena; null if there is none
};

/// @return The owner of the `struct_arena_scope` that a piece belongs to; null if there is none
[[nodiscard]] void const* owner_of_struct(void const* memory) noexcept;

// These replace nanoarrow's `ArrowMalloc`, `ArrowRealloc` and `ArrowFree`, with the linker's
// `--wrap`. Memory is aligned to 16 bytes, or null if it runs out.
void* allocate_struct(std::int64_t size) noexcept;
void* reallocate_struct(void* memory, std::int64_t size) noexcept;
void free_struct(void* memory) noexcept;

}  // namespace cudf_arrow_bridge::detail
