// SPDX-License-Identifier: Apache-2.0
/// @file
/// A library for Python. If preloaded, it counts the allocations of the process with functions of
/// the C standard and POSIX: of C, C++, and Python, which has to be started with
/// `PYTHONMALLOC=malloc`. Under callgrind, started with `--instr-atstart=no`, it selects the
/// counted instructions.
#include <cerrno>
#include <cstddef>
#include <cstdint>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_TOGGLE_COLLECT
#define CALLGRIND_DUMP_STATS_AT(name) static_cast<void>(name)
#endif

namespace {

// Use the initial-exec model, because the model for libraries that are loaded later may allocate.
[[gnu::tls_model("initial-exec")]] thread_local std::uint64_t count = 0;

}  // namespace

extern "C" {

// glibc's names of the replaced functions.
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size)
{
  ++count;
  return __libc_malloc(size);
}

void* calloc(std::size_t number, std::size_t size)
{
  ++count;
  return __libc_calloc(number, size);
}

void* realloc(void* memory, std::size_t size)
{
  ++count;
  return __libc_realloc(memory, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size)
{
  ++count;
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t size)
{
  *memory = aligned_alloc(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}

/// @return The number of allocations of this thread
std::uint64_t counters_allocations() { return count; }

/// Starts callgrind without counting, which is slow, unlike `counters_toggle`.
void counters_start()
{
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_TOGGLE_COLLECT;
}

/// Starts or stops counting instructions.
void counters_toggle() { CALLGRIND_TOGGLE_COLLECT; }

/// Writes the counts since the last call.
/// @param[in] name Name of the measurement
void counters_dump(char const* name) { CALLGRIND_DUMP_STATS_AT(name); }

}  // extern "C"
