// SPDX-License-Identifier: Apache-2.0
/// @file
/// The masks that a survey of device memory makes, which is only enqueued, and how it counts their
/// nulls.
#pragma once

#include "compute/buffers.hpp"

#include <cudf/types.hpp>

#include <rmm/device_buffer.hpp>

#include <span>
#include <vector>

namespace cudf_arrow_bridge::detail::device {

/// How many bits of each range are 0, of all with one wait (one for each 2^31 bits, if there are
/// more).
std::vector<cudf::size_type> count_nulls(std::span<bit_range const> ranges, execution const& exec);

/// The rows that are valid in both of two masks, which begin with words of libcudf's.
rmm::device_buffer valid_in_both(void const* left,
                                 void const* right,
                                 cudf::size_type rows,
                                 execution const& exec);

/**
 * @brief A mask in which those rows alone are null that are null in `mask` and not empty.
 *
 * @param mask Begins with a word of libcudf's
 * @param offsets Of the rows, one more than there are rows
 */
rmm::device_buffer nonempty_nulls(void const* mask,
                                  offset_range const& offsets,
                                  execution const& exec);

}  // namespace cudf_arrow_bridge::detail::device
