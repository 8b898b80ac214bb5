// SPDX-License-Identifier: Apache-2.0
#include "sim/memory.hpp"

#include "sim/detail/machine.hpp"

#include <new>

namespace sim {

using detail::call;

void* allocate(memory_kind kind, int device, std::size_t size)
{
  void* result      = nullptr;
  auto const status = call("sim::allocate", [&](auto& all, auto&) {
    result = all.memory.allocate(kind, device, size, 0);
    return cudaSuccess;
  });
  if (status != cudaSuccess) { throw std::bad_alloc{}; }
  return result;
}

void deallocate(void* memory) noexcept
{
  auto& all       = detail::machine::instance();
  auto const lock = std::unique_lock{all.mutex};
  all.work.note_activity();
  if (memory != nullptr && !all.memory.deallocate(memory)) {
    all.violations.emplace_back("memory was freed that was not given out");
  }
}

std::span<std::byte const> allocation_of(void const* address)
{
  return detail::locked([&](auto& all) {
    auto const* found = all.memory.find(address);
    return found == nullptr ? std::span<std::byte const>{}
                            : std::span<std::byte const>{found->data, found->size};
  });
}

void share_pageable_memory_with(int device)
{
  detail::locked([&](auto& all) { all.reaches_pageable = device; });
}

void* allocate_on(cudaStream_t stream, memory_kind kind, int device, std::size_t size)
{
  void* result      = nullptr;
  auto const status = call("sim::allocate", [&](auto& all, auto&) {
    auto const* where = all.find_stream(stream);
    if (where == nullptr) { return cudaErrorInvalidResourceHandle; }
    result = all.memory.allocate(kind, device, size, where->id);
    return cudaSuccess;
  });
  if (status != cudaSuccess) { throw std::bad_alloc{}; }
  return result;
}

void deallocate_on(cudaStream_t stream, void* memory) noexcept
{
  auto& all = detail::machine::instance();
  auto lock = std::unique_lock{all.mutex};
  all.work.note_activity();
  auto* where = all.find_stream(stream);
  if (where == nullptr) {
    all.violations.emplace_back("memory was freed on a stream that is gone");
    all.memory.deallocate(memory);
    return;
  }
  if (memory != nullptr) { all.free_on(lock, *where, memory); }
}

}  // namespace sim
