// SPDX-License-Identifier: Apache-2.0
/// @file
/// Allocation of all kinds of memory. All memory is host memory, so that tests can read it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sim {

/// Kinds of memory. `cudaPointerGetAttributes` reports pageable memory as unregistered.
enum class memory_kind : std::uint8_t { device, managed, pinned, pageable };

/// Freed memory is overwritten with this byte.
inline constexpr auto freed_byte = std::byte{0xDB};

/// New memory is filled with this byte.
inline constexpr auto fresh_byte = std::byte{0xCD};

/**
 * @brief Allocates memory; reuses the block of its size class, kind and device that was freed last.
 *
 * Under AddressSanitizer, bytes beyond `size` are poisoned.
 *
 * @param kind Kind of the memory
 * @param device Device that owns the memory; for host memory the device that pinned it
 * @param size Bytes; aligned to 256
 */
[[nodiscard]] void* allocate(memory_kind kind, int device, std::size_t size);

/**
 * @brief Frees and overwrites memory immediately, even if queued work still reads it.
 *
 * A producer may do this after its array is released. Under AddressSanitizer, accessing the memory
 * before it is allocated again is an error. Null is ignored.
 */
void deallocate(void* memory) noexcept;

/// @return The allocation that contains an address; empty: none
[[nodiscard]] std::span<std::byte const> allocation_of(void const* address);

/// Makes one device report `cudaDevAttrPageableMemoryAccess`.
void share_pageable_memory_with(int device);

/// Allocates memory for use on `stream`. Memory that was freed on `stream` is reused first.
[[nodiscard]] void* allocate_on(cudaStream_t stream,
                                memory_kind kind,
                                int device,
                                std::size_t size);

/// Frees memory in stream order: an operation on `stream` overwrites it.
void deallocate_on(cudaStream_t stream, void* memory) noexcept;

}  // namespace sim
