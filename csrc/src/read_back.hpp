// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "convert.hpp"

#include <cuda/stream>

#include <cstdint>

namespace cudf_arrow_bridge::detail::device {

/**
 * @brief Reads one integer of 2, 4 or 8 bytes from device memory. Waits for the stream.
 *
 * @throws rmm::cuda_error if CUDA refuses the copy or the work before it has failed
 */
std::int64_t read_integer(void const* source, std::int64_t width, cuda::stream_ref stream);

/// The first and the last of `size + 1` offsets, likewise, with one wait.
offset_ends read_ends(void const* offsets,
                      std::int64_t size,
                      std::int64_t width,
                      placement const& where);

}  // namespace cudf_arrow_bridge::detail::device
