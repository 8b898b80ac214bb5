// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "convert.hpp"

#include <cuda/stream>

#include <cstdint>

namespace cudf_arrow_bridge::detail::device {

/**
 * @brief Reads one integer of 4 or 8 bytes from device memory. Waits for the stream.
 *
 * @throws rmm::cuda_error if CUDA refuses the copy or the work before it has failed
 */
std::int64_t read_integer(void const* source, std::int64_t width, cuda::stream_ref stream);

/// Reads the first and last of `size` + 1 offsets in the same way; waits once.
offset_ends read_ends(void const* offsets,
                      std::int64_t size,
                      std::int64_t width,
                      cuda::stream_ref stream);

}  // namespace cudf_arrow_bridge::detail::device
