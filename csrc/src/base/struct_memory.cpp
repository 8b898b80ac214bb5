// SPDX-License-Identifier: Apache-2.0
#include "base/struct_memory.hpp"

#include <nanoarrow/nanoarrow.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size)   ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace cudf_arrow_bridge::detail {
namespace {

/// The header of each piece.
struct alignas(std::max_align_t) piece {
  struct_arena* arena;  ///< null: a single allocation
  std::size_t size;     ///< the number of bytes after the header
};

/// Allocates blocks with malloc, as nanoarrow does. nanoarrow does not check some allocations.
/// malloc does not fail for them in practice, but a replaced `operator new` may.
class malloc_resource final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t size, std::size_t) override
  {
    auto* block = std::malloc(size);
    if (block == nullptr) { throw std::bad_alloc{}; }
    return block;
  }

  void do_deallocate(void* block, std::size_t, std::size_t) override { std::free(block); }

  [[nodiscard]] bool do_is_equal(memory_resource const& other) const noexcept override
  { return this == &other; }
};

/// Never destroyed, because structs may be released at any time during exit.
union lasting_resource {
  malloc_resource blocks;

  lasting_resource() noexcept : blocks{} {}
  ~lasting_resource() {}  // NOLINT(modernize-use-equals-default): that would be deleted
};

lasting_resource lasting;

}  // namespace

/// Pieces of memory that are freed together.
struct struct_arena {
  /// A count for pieces that are still to be allocated, larger than any real number.
  static constexpr auto open = std::int64_t{1} << 62;

  std::pmr::monotonic_buffer_resource memory;
  std::shared_ptr<void const> owner;
  std::int64_t num_made{0};
  std::atomic<std::int64_t> num_live{open};

  struct_arena(std::span<std::byte> block, std::shared_ptr<void const>&& kept)
    : memory{block.data(), block.size(), &lasting.blocks}, owner{std::move(kept)}
  {
  }

  /// @return An arena whose first block directly follows it
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

/// Larger pieces, such as long metadata, use malloc, because they would make the next block larger.
constexpr auto largest_in_row = std::size_t{4096};

/// If that is not enough, more blocks of growing size follow.
constexpr auto largest_first_block = std::size_t{65'536};

constinit thread_local struct_arena* arena_here = nullptr;

bool is_in_row(struct_arena const* arena, std::size_t size)
{ return arena != nullptr && size <= largest_in_row; }

void* place_of_piece(struct_arena* arena, std::size_t size) noexcept
{
  if (!is_in_row(arena, size)) { return std::malloc(sizeof(piece) + size); }
  try {
    auto* place = arena->memory.allocate(sizeof(piece) + size, alignof(piece));
    ASAN_UNPOISON_MEMORY_REGION(place, sizeof(piece) + size);
    return place;
  } catch (std::bad_alloc const&) {
    return nullptr;
  }
}

piece* piece_of(void* memory) { return static_cast<piece*>(memory) - 1; }

}  // namespace

struct_arena_scope::struct_arena_scope(std::size_t expected, std::shared_ptr<void const> owner)
  : arena_{struct_arena::make(std::min(expected, largest_first_block), std::move(owner))},
    outer_{std::exchange(arena_here, arena_)}
{
}

struct_arena_scope::~struct_arena_scope()
{
  arena_here = outer_;
  arena_->drop(struct_arena::open - arena_->num_made);
}

void const* owner_of_struct(void const* memory) noexcept
{
  auto const* arena = (static_cast<piece const*>(memory) - 1)->arena;
  return arena == nullptr ? nullptr : arena->owner.get();
}

void* allocate_struct(std::int64_t size) noexcept
{
  auto* arena      = arena_here;
  auto const bytes = static_cast<std::size_t>(size);
  auto* place      = place_of_piece(arena, bytes);
  if (place == nullptr) { return nullptr; }
  if (arena != nullptr) { ++arena->num_made; }
  return new (place) piece{arena, bytes} + 1;
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
  auto* place              = piece_of(memory);
  auto const [arena, size] = *place;
  if (is_in_row(arena, size)) {
    ASAN_POISON_MEMORY_REGION(place, sizeof(piece) + size);
  } else {
    std::free(place);
  }
  if (arena != nullptr) { arena->drop(1); }
}

}  // namespace cudf_arrow_bridge::detail

// The linker wraps these names of nanoarrow (csrc/CMakeLists.txt).
#define NAME_OF(symbol) TEXT_OF(symbol)
#define TEXT_OF(symbol) #symbol
static_assert(std::string_view{NAME_OF(ArrowMalloc)} == "cudfArrowMalloc");
static_assert(std::string_view{NAME_OF(ArrowRealloc)} == "cudfArrowRealloc");
static_assert(std::string_view{NAME_OF(ArrowFree)} == "cudfArrowFree");

// Weak, so that tests can replace them. NOLINTBEGIN(bugprone-reserved-identifier): the linker's
// names.
extern "C" {
[[gnu::weak]] void* __wrap_cudfArrowMalloc(std::int64_t size)
{ return cudf_arrow_bridge::detail::allocate_struct(size); }

[[gnu::weak]] void* __wrap_cudfArrowRealloc(void* memory, std::int64_t size)
{ return cudf_arrow_bridge::detail::reallocate_struct(memory, size); }

[[gnu::weak]] void __wrap_cudfArrowFree(void* memory)
{ cudf_arrow_bridge::detail::free_struct(memory); }
}
// NOLINTEND(bugprone-reserved-identifier)
