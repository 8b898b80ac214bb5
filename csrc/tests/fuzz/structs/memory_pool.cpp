// SPDX-License-Identifier: Apache-2.0
#include "fuzz/structs/memory_pool.hpp"

#include <cstring>
#include <new>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace cudf_arrow_bridge::fuzz {

std::byte* memory_pool::rows(content kind,
                             std::int64_t row_bits,
                             std::int64_t first_row,
                             std::int64_t end_row,
                             void const** address)
{
  auto const first = first_row * row_bits / 8;
  auto const end   = (end_row * row_bits + 7) / 8;
  auto const size  = static_cast<std::size_t>(end - first);
  auto* memory     = static_cast<std::byte*>(std::malloc(size));
  if (memory == nullptr) { throw std::bad_alloc{}; }
  // Computed with integers, as row 0 may lie outside the allocation.
  *address = reinterpret_cast<void const*>(  // NOLINT(performance-no-int-to-ptr)
    reinterpret_cast<std::uintptr_t>(memory) - static_cast<std::uintptr_t>(first));
  order_.push_back(*address);
  blocks_[*address] = {memory, size, kind, row_bits, first_row, end_row};
  num_bytes_ += size;
  return memory;
}

std::byte* memory_pool::allocate(content kind, std::size_t size)
{
  void const* address = nullptr;
  return rows(kind, 8, 0, static_cast<std::int64_t>(size), &address);
}

void const* memory_pool::add_alias(std::byte const* address, block const& like)
{
  auto alias       = like;
  alias.memory     = nullptr;
  alias.size       = 0;
  blocks_[address] = alias;
  order_.push_back(address);
  return address;
}

char const* memory_pool::text(std::string_view text)
{
  auto* memory = allocate(content::text, text.size() + 1);
  std::memcpy(memory, text.data(), text.size());
  memory[text.size()] = std::byte{0};
  return reinterpret_cast<char const*>(memory);
}

block const* memory_pool::find(void const* address) const
{
  auto const entry = blocks_.find(address);
  return entry == blocks_.end() ? nullptr : &entry->second;
}

void memory_pool::truncate(std::size_t size)
{
  while (order_.size() > size) {
    auto const entry = blocks_.find(order_.back());
    if (entry != blocks_.end()) {
      num_bytes_ -= entry->second.size;
      std::free(entry->second.memory);
      blocks_.erase(entry);
    }
    order_.pop_back();
  }
}

void memory_pool::poison() const
{
  for (auto const& [address, block] : blocks_) {
    if (block.kind != content::text) { fuzz::poison(block.memory, block.size); }
  }
}

void memory_pool::unpoison() const
{
  for (auto const& [address, block] : blocks_) { fuzz::unpoison(block.memory, block.size); }
}

#ifdef __SANITIZE_ADDRESS__
void poison(void const* memory, std::size_t size) { ASAN_POISON_MEMORY_REGION(memory, size); }

void unpoison(void const* memory, std::size_t size) { ASAN_UNPOISON_MEMORY_REGION(memory, size); }
#else
void poison(void const*, std::size_t) {}

void unpoison(void const*, std::size_t) {}
#endif

}  // namespace cudf_arrow_bridge::fuzz
