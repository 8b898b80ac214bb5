// SPDX-License-Identifier: Apache-2.0
#include "sim/detail/memory_table.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size)   ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace sim::detail {
namespace {

constexpr std::size_t alignment = 256;
constexpr std::uint64_t anybody = 0;

}  // namespace

// Not instrumented, and not compiled to memset: the block may be in use again with a smaller size,
// so that bytes within the old size are poisoned.
__attribute__((no_sanitize("address"), optimize("no-tree-loop-distribute-patterns"))) void scribble(
  std::byte* data, std::size_t size, std::byte value)
{
  for (std::size_t i = 0; i < size; ++i) { data[i] = value; }
}

block* memory_table::take_free(size_class const& wanted)
{
  auto const found = free_.find(wanted);
  if (found == free_.end() || found->second.empty()) { return nullptr; }
  auto* newest = found->second.back();
  found->second.pop_back();
  return newest;
}

void* memory_table::allocate(memory_kind kind, int device, std::size_t size, std::uint64_t stream)
{
  auto const capacity = std::max(alignment, std::bit_ceil(size));
  auto* taken         = take_free({stream, kind, device, capacity});
  auto const queued   = taken != nullptr;
  if (taken == nullptr) { taken = take_free({anybody, kind, device, capacity}); }
  if (taken == nullptr) {
    auto* data = static_cast<std::byte*>(std::aligned_alloc(alignment, capacity));
    if (data == nullptr) { throw std::bad_alloc{}; }
    std::memset(data, std::to_integer<int>(fresh_byte), capacity);
    taken =
      &blocks_.emplace(reinterpret_cast<std::uintptr_t>(data), block{data, capacity, kind, device})
         .first->second;
  }
  ASAN_UNPOISON_MEMORY_REGION(taken->data, taken->capacity);
  // If the block is reused on its stream, operations queued before may still use its old size.
  if (!queued) { ASAN_POISON_MEMORY_REGION(taken->data + size, taken->capacity - size); }
  taken->size   = size;
  taken->live   = true;
  taken->pooled = stream != anybody;
  ++taken->num_uses;
  ++num_live_;
  return taken->data;
}

block const* memory_table::find(void const* address) const
{
  auto const value = reinterpret_cast<std::uintptr_t>(address);
  auto const after = blocks_.upper_bound(value);
  if (after == blocks_.begin()) { return nullptr; }
  auto const& [begin, candidate] = *std::prev(after);
  // The address of a block of 0 bytes must be found, too.
  auto const size = std::max<std::size_t>(candidate.size, 1);
  return candidate.live && value - begin < size ? &candidate : nullptr;
}

block* memory_table::live_block(void* memory)
{
  auto const found = blocks_.find(reinterpret_cast<std::uintptr_t>(memory));
  if (found == blocks_.end() || !found->second.live) { return nullptr; }
  return &found->second;
}

bool memory_table::deallocate(void* memory)
{
  auto* freed = live_block(memory);
  if (freed == nullptr) { return false; }
  freed->live = false;
  num_live_ -= std::exchange(freed->lasting, false) ? 0 : 1;
  scribble(freed->data, freed->size, freed_byte);
  ASAN_POISON_MEMORY_REGION(freed->data, freed->capacity);
  free_[{anybody, freed->kind, freed->device, freed->capacity}].push_back(freed);
  return true;
}

block* memory_table::deallocate_on(std::uint64_t stream, void* memory)
{
  auto* freed = live_block(memory);
  if (freed == nullptr) { return nullptr; }
  freed->live = false;
  --num_live_;
  free_[{stream, freed->kind, freed->device, freed->capacity}].push_back(freed);
  return freed;
}

void memory_table::stream_passed(std::uint64_t stream, block* freed, std::uint64_t num_uses)
{
  if (freed->num_uses != num_uses) { return; }
  std::erase(free_[{stream, freed->kind, freed->device, freed->capacity}], freed);
  ASAN_POISON_MEMORY_REGION(freed->data, freed->capacity);
  free_[{anybody, freed->kind, freed->device, freed->capacity}].push_back(freed);
}

std::string memory_table::describe_live() const
{
  auto result = std::string{};
  for (auto const& [address, block] : blocks_) {
    if (!block.live || block.lasting) { continue; }
    result += "memory of " + std::to_string(block.size) + " bytes on device " +
              std::to_string(block.device) + "\n";
  }
  return result;
}

void* memory_table::keep(void* memory)
{
  live_block(memory)->lasting = true;
  --num_live_;
  return memory;
}

void memory_table::clear()
{
  std::erase_if(blocks_, [](auto const& entry) {
    auto const& block = entry.second;
    if (block.lasting) { return false; }
    ASAN_UNPOISON_MEMORY_REGION(block.data, block.capacity);
    std::free(block.data);
    return true;
  });
  free_.clear();
  num_live_ = 0;
}

}  // namespace sim::detail
