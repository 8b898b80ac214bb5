// SPDX-License-Identifier: Apache-2.0
/// @file
/// Large blocks of host memory. The kernel clears each page that a process has not had, one page
/// fault at a time, which takes longer than most conversions that then fill it.
#pragma once

#include <cstddef>

namespace cudf_arrow_bridge::detail {

/// Asks the kernel for huge pages if the block is large: one page fault for each 2 MiB rather than
/// for each 4 KiB. Where the kernel has none, nothing changes. What is in the block may be lost.
void use_huge_pages(void* memory, std::size_t bytes) noexcept;

/**
 * @brief Keeps a block that `std::aligned_alloc` made, for `take_spare_block`.
 *
 * The blocks freed last are kept, up to 256 MiB. Their pages stay with the process until another
 * one needs them: the kernel may take them at any time.
 *
 * @return False if the block is not kept, for example as it is small; the caller frees it then
 */
[[nodiscard]] bool keep_spare_block(void* memory) noexcept;

/// @return A block kept before that has at least `bytes` bytes and not many more; null if there is
/// none
[[nodiscard]] void* take_spare_block(std::size_t bytes, std::size_t alignment) noexcept;

}  // namespace cudf_arrow_bridge::detail
