// SPDX-License-Identifier: Apache-2.0
/// @file
/// Memory of the C structs that nanoarrow makes, and of their strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cudf_arrow_bridge::detail {

struct struct_arena;

/**
 * @brief While it lives, what nanoarrow allocates on this thread is laid out in a row.
 *
 * The memory goes with the last piece of it, on whatever thread: a consumer that keeps one child of
 * many keeps the memory of all their structs, as it keeps their buffers.
 *
 * A column takes some seven pieces. Of each size glibc's malloc has seven at hand; where a table
 * has more columns than that, making and releasing the structs takes two to three times as long by
 * malloc.
 */
class joint_struct_memory {
 public:
  /**
   * @throws std::bad_alloc if memory runs out
   *
   * @param expected Bytes that the pieces will take
   * @param owner Lives until the last piece has been freed; may be null
   */
  explicit joint_struct_memory(std::size_t expected, std::shared_ptr<void const> owner = nullptr);
  ~joint_struct_memory();
  joint_struct_memory(joint_struct_memory const&)            = delete;
  joint_struct_memory& operator=(joint_struct_memory const&) = delete;

 private:
  struct_arena* arena_;
  struct_arena* outer_;  ///< of the one around this; null if there is none
};

/// @return The owner given to the `joint_struct_memory` that a piece is part of; null if there is
/// none
[[nodiscard]] void const* owner_of_struct(void const* memory) noexcept;

/// Takes the place of nanoarrow's `ArrowMalloc`, by the linker's `--wrap`.
///
/// @return Memory aligned to 16 bytes; null if it runs out
void* allocate_struct(std::int64_t size) noexcept;

/// Takes the place of nanoarrow's `ArrowRealloc`; see `allocate_struct`.
void* reallocate_struct(void* memory, std::int64_t size) noexcept;

/// Takes the place of nanoarrow's `ArrowFree`; see `allocate_struct`.
void free_struct(void* memory) noexcept;

}  // namespace cudf_arrow_bridge::detail
