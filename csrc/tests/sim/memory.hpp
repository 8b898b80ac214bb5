// SPDX-License-Identifier: Apache-2.0
/// @file
/// Memory of every kind. All of it is host memory, so that tests can look at it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sim {

/// What `cudaPointerGetAttributes` tells apart; it knows nothing of pageable memory.
enum class memory_kind : std::uint8_t { device, managed, pinned, pageable };

/// Freed memory is overwritten with this byte.
inline constexpr auto freed_byte = std::byte{0xDB};

/// Memory that was never used before holds this byte.
inline constexpr auto fresh_byte = std::byte{0xCD};

/**
 * @brief Gives out memory, most of all what was freed last in its size class, kind and device.
 *
 * Under AddressSanitizer no byte beyond `size` can be touched.
 *
 * @param kind Kind of the memory
 * @param device Device that owns it; for host memory the one that pinned it
 * @param size Bytes; aligned to 256
 */
[[nodiscard]] void* allocate(memory_kind kind, int device, std::size_t size);

/**
 * @brief Takes memory back at once, whatever may still be reading it, and overwrites it.
 *
 * So does a producer that was told that nobody needs it any more. Under AddressSanitizer touching
 * it before it is given out again is an error. Null is ignored.
 */
void deallocate(void* memory) noexcept;

/// @return The memory given out that an address is in, or none
[[nodiscard]] std::span<std::byte const> allocation_of(void const* address);

/// Has the kernels of one device use pageable memory, as on hosts that share their page tables.
void share_pageable_memory_with(int device);

/// As `allocate`, but what was freed on `stream` before is given out first, still warm.
[[nodiscard]] void* allocate_on(cudaStream_t stream,
                                memory_kind kind,
                                int device,
                                std::size_t size);

/// Takes memory back in stream order: it is overwritten by an operation on `stream`.
void deallocate_on(cudaStream_t stream, void* memory) noexcept;

}  // namespace sim
