// SPDX-License-Identifier: Apache-2.0
/// @file
/// Masks in device memory, counts of their nulls, and the check of bools. Creating masks only
/// enqueues work.
#pragma once

#include "compute/buffers.hpp"

#include <cudf/types.hpp>

#include <rmm/device_buffer.hpp>

#include <span>
#include <vector>

namespace cudf_arrow_bridge::detail::device {

/// `count_nulls` of several ranges, in device memory.
std::vector<cudf::size_type> count_nulls(std::span<bit_range const> ranges, execution const& exec);

/// The AND of two masks, both aligned to `cudf::bitmask_type`.
rmm::device_buffer valid_in_both(void const* left,
                                 void const* right,
                                 cudf::size_type rows,
                                 execution const& exec);

/**
 * @brief A mask in which a row is null if it is null in `mask` and not empty.
 *
 * @param mask Mask of string or list rows, aligned to `cudf::bitmask_type`
 * @param offsets Offsets of the rows, one more than there are rows
 */
rmm::device_buffer nonempty_nulls(void const* mask,
                                  offset_range const& offsets,
                                  execution const& exec);

/// The greatest of `size` bytes, at least one. Only enqueues work.
rmm::device_buffer greatest_byte(void const* bytes, cudf::size_type size, execution const& exec);

/// Clears the bits after the first `size` of a result of `copy_bits`, in their last word. Copies in
/// device memory have bits of the source there.
void clear_bits_after(rmm::device_buffer& bits, std::int64_t size, execution const& exec);

}  // namespace cudf_arrow_bridge::detail::device
