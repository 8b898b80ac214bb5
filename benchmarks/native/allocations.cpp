// SPDX-License-Identifier: Apache-2.0
#include "allocations.hpp"

#include <cstdlib>
#include <new>

namespace {

thread_local std::uint64_t count = 0;

void* counted(std::size_t size)
{
  ++count;
  auto* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) { throw std::bad_alloc{}; }
  return memory;
}

void* counted(std::size_t size, std::align_val_t alignment)
{
  ++count;
  auto const step = static_cast<std::size_t>(alignment);
  auto* memory    = std::aligned_alloc(step, (size + step - 1) / step * step);
  if (memory == nullptr) { throw std::bad_alloc{}; }
  return memory;
}

}  // namespace

std::uint64_t allocations() noexcept { return count; }

// The array forms and the non-throwing forms call these. Shared libraries use them as well.
void* operator new(std::size_t size) { return counted(size); }
void* operator new(std::size_t size, std::align_val_t alignment)
{ return counted(size, alignment); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
