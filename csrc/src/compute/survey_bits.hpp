// SPDX-License-Identifier: Apache-2.0
/// @file
/// Masks that a survey of device memory counts the nulls of. They are only enqueued.
#pragma once

#include "compute/convert.hpp"

#include <cudf/types.hpp>

#include <rmm/device_buffer.hpp>

namespace cudf_arrow_bridge::detail::device {

/// The rows that are valid in both of two masks, which begin with words of libcudf's.
rmm::device_buffer valid_in_both(void const* left,
                                 void const* right,
                                 cudf::size_type rows,
                                 placement const& where);

/**
 * @brief A mask in which those rows alone are null that are null in `mask` and not empty.
 *
 * @param mask Begins with a word of libcudf's
 * @param offsets Of the rows, one more than there are rows
 */
rmm::device_buffer nonempty_nulls(void const* mask,
                                  offset_range const& offsets,
                                  placement const& where);

}  // namespace cudf_arrow_bridge::detail::device
