// SPDX-License-Identifier: Apache-2.0
#include "fuzz/allocations.hpp"

#include <cudf/column/column.hpp>

#include <dlfcn.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#ifdef __SANITIZE_ADDRESS__
// GCC's sanitizer has these functions, but not the header that declares them.
extern "C" {
int __sanitizer_install_malloc_and_free_hooks(void (*)(void const volatile*, std::size_t),
                                              void (*)(void const volatile*));
std::size_t __sanitizer_get_allocated_size(void const volatile*);
}
#endif

namespace cudf_arrow_bridge::fuzz {
namespace {

constinit allocation_meter meter;

void note_allocation(std::size_t size)
{
  if (!meter.is_on) { return; }
  ++meter.num_live;
  meter.bytes_live += static_cast<std::int64_t>(size);
  meter.bytes_peak = std::max(meter.bytes_peak, meter.bytes_live);
}

void note_free(std::size_t size)
{
  if (!meter.is_on) { return; }
  --meter.num_live;
  meter.bytes_live -= static_cast<std::int64_t>(size);
}

#ifdef __SANITIZE_ADDRESS__
constexpr bool counts_in_new = false;

[[maybe_unused]] auto const hooked = __sanitizer_install_malloc_and_free_hooks(
  [](void const volatile*, std::size_t size) { note_allocation(size); },
  [](void const volatile* memory) {
    if (meter.is_on && memory != nullptr) { note_free(__sanitizer_get_allocated_size(memory)); }
  });
#else
constexpr bool counts_in_new = true;
#endif

bool must_fail()
{ return meter.is_on && meter.news_until_failure >= 0 && meter.news_until_failure-- == 0; }

void* allocate(std::size_t size, std::size_t alignment) noexcept
{
  if (must_fail()) { return nullptr; }
  auto* memory = alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__
                   ? std::malloc(size)
                   : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (counts_in_new && memory != nullptr) { note_allocation(malloc_usable_size(memory)); }
  return memory;
}

void* allocate_or_throw(std::size_t size, std::size_t alignment)
{
  auto* memory = allocate(size, alignment);
  if (memory == nullptr) { throw std::bad_alloc{}; }
  return memory;
}

void deallocate(void* memory) noexcept
{
  if (counts_in_new && memory != nullptr) { note_free(malloc_usable_size(memory)); }
  std::free(memory);
}

}  // namespace

allocation_meter& heap() { return meter; }

}  // namespace cudf_arrow_bridge::fuzz

namespace fuzz = cudf_arrow_bridge::fuzz;

constexpr auto default_alignment = std::size_t{__STDCPP_DEFAULT_NEW_ALIGNMENT__};

// The other operators call these.
void* operator new(std::size_t size) { return fuzz::allocate_or_throw(size, default_alignment); }

void* operator new(std::size_t size, std::align_val_t alignment)
{ return fuzz::allocate_or_throw(size, static_cast<std::size_t>(alignment)); }

void* operator new(std::size_t size, std::nothrow_t const&) noexcept
{ return fuzz::allocate(size, default_alignment); }

void operator delete(void* memory) noexcept { fuzz::deallocate(memory); }

void operator delete(void* memory, std::size_t) noexcept { fuzz::deallocate(memory); }

void operator delete(void* memory, std::align_val_t) noexcept { fuzz::deallocate(memory); }

void operator delete(void* memory, std::size_t, std::align_val_t) noexcept
{ fuzz::deallocate(memory); }

namespace {

using release_function = cudf::column::contents (*)(cudf::column*);

// Found before `main`: the first lookup frees the text of an earlier error of the loader.
auto const original_release =
  reinterpret_cast<release_function>(dlsym(RTLD_NEXT, "_ZN4cudf6column7releaseEv"));

}  // namespace

/// Replaces the function of libcudf, which allocates although it is `noexcept`, so that a failed
/// allocation ends the process. Failures are switched off during the call.
cudf::column::contents cudf::column::release() noexcept
{
  auto& left     = fuzz::heap().news_until_failure;
  auto const was = std::exchange(left, -1);
  auto result    = original_release(this);
  left           = was;
  return result;
}
