// SPDX-License-Identifier: Apache-2.0
/// @file
/// Large blocks of host memory. The kernel clears each new page of a process with a page fault,
/// which takes longer than most conversions that fill it.
#pragma once

#include <cstddef>

namespace cudf_arrow_bridge::detail {

/// Asks the kernel for huge pages if the block is large: one page fault for each 2 MiB rather than
/// for each 4 KiB. Without huge pages nothing changes. The contents of the block may be lost.
void use_huge_pages(void* memory, std::size_t bytes) noexcept;

/**
 * @brief Keeps a block of `std::aligned_alloc` for `take_spare_block`.
 *
 * The blocks freed last are kept, up to 256 MiB. The kernel may take back their pages at any time.
 *
 * @return False if the block is not kept, for example because it is small; the caller then frees it
 */
[[nodiscard]] bool keep_spare_block(void* memory) noexcept;

/// @return A block kept before that has at least `bytes` bytes and not many more; null if there is
/// none
[[nodiscard]] void* take_spare_block(std::size_t bytes, std::size_t alignment) noexcept;

}  // namespace cudf_arrow_bridge::detail
