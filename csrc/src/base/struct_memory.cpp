// SPDX-License-Identifier: Apache-2.0
#include "base/struct_memory.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <new>
#include <span>
#include <utility>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size)   ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace cudf_arrow_bridge::detail {

/// Pieces of memory that are freed together.
struct struct_arena {
  /// Stands for the pieces that are still to come; more than there can be.
  static constexpr auto open = std::int64_t{1} << 62;

  std::pmr::monotonic_buffer_resource memory;
  std::shared_ptr<void const> owner;
  std::int64_t num_made{0};
  std::atomic<std::int64_t> num_live{open};

  struct_arena(std::span<std::byte> block, std::shared_ptr<void const>&& kept)
    : memory{block.data(), block.size()}, owner{std::move(kept)}
  {
  }

  /// @return An arena whose first block comes right behind it
  static struct_arena* make(std::size_t block, std::shared_ptr<void const>&& owner)
  {
    auto* place = static_cast<std::byte*>(::operator new(sizeof(struct_arena) + block));
    return new (place) struct_arena{{place + sizeof(struct_arena), block}, std::move(owner)};
  }

  void drop(std::int64_t count) noexcept
  {
    if (num_live.fetch_sub(count, std::memory_order_acq_rel) != count) { return; }
    std::destroy_at(this);
    ::operator delete(this);
  }
};

namespace {

/// What stands before each piece.
struct alignas(std::max_align_t) piece {
  struct_arena* arena;  ///< null: by malloc
  std::size_t size;     ///< bytes that follow
};

/// Others, such as long metadata, would only make the arena's next block larger.
constexpr auto largest_in_arena = std::size_t{4096};

/// Larger ones follow where that is not enough.
constexpr auto largest_first_block = std::size_t{32'768};

constinit thread_local struct_arena* arena_here = nullptr;

void* add_piece(struct_arena& arena, std::size_t size)
{
  auto* memory = arena.memory.allocate(sizeof(piece) + size, alignof(piece));
  ASAN_UNPOISON_MEMORY_REGION(memory, sizeof(piece) + size);
  ++arena.num_made;
  return memory;
}

piece* piece_of(void* memory) { return static_cast<piece*>(memory) - 1; }

}  // namespace

joint_struct_memory::joint_struct_memory(std::size_t expected, std::shared_ptr<void const> owner)
  : arena_{struct_arena::make(std::min(expected, largest_first_block), std::move(owner))},
    outer_{std::exchange(arena_here, arena_)}
{
}

joint_struct_memory::~joint_struct_memory()
{
  arena_here = outer_;
  arena_->drop(struct_arena::open - arena_->num_made);
}

void* allocate_struct(std::int64_t size) noexcept
{
  auto const bytes = static_cast<std::size_t>(size);
  auto* arena      = bytes <= largest_in_arena ? arena_here : nullptr;
  auto* memory     = static_cast<void*>(nullptr);
  if (arena == nullptr) {
    memory = std::malloc(sizeof(piece) + bytes);
  } else {
    try {
      memory = add_piece(*arena, bytes);
    } catch (std::bad_alloc const&) {
      return nullptr;
    }
  }
  return memory == nullptr ? nullptr : new (memory) piece{arena, bytes} + 1;
}

void* reallocate_struct(void* memory, std::int64_t size) noexcept
{
  auto* result = allocate_struct(size);
  if (result == nullptr || memory == nullptr) { return result; }
  std::memcpy(result, memory, std::min(piece_of(memory)->size, static_cast<std::size_t>(size)));
  free_struct(memory);
  return result;
}

void free_struct(void* memory) noexcept
{
  if (memory == nullptr) { return; }
  auto* freed = piece_of(memory);
  if (freed->arena == nullptr) {
    std::free(freed);
  } else {
    auto* arena = freed->arena;
    ASAN_POISON_MEMORY_REGION(freed, sizeof(piece) + freed->size);
    arena->drop(1);
  }
}

}  // namespace cudf_arrow_bridge::detail

// Weak, so that tests can come between.
extern "C" {
[[gnu::weak]] void* __wrap_cudfArrowMalloc(std::int64_t size)
{ return cudf_arrow_bridge::detail::allocate_struct(size); }

[[gnu::weak]] void* __wrap_cudfArrowRealloc(void* memory, std::int64_t size)
{ return cudf_arrow_bridge::detail::reallocate_struct(memory, size); }

[[gnu::weak]] void __wrap_cudfArrowFree(void* memory)
{ cudf_arrow_bridge::detail::free_struct(memory); }
}
