// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace cudf_arrow_bridge {

/// @addtogroup copies Copies
/// @{

/// Whether buffers are copied.
enum class copy_policy : std::int8_t {
  as_needed,  ///< buffers that cannot be shared
  never,      ///< no buffer: std::invalid_argument names the columns that cannot be shared, and the
              ///< reasons
  always      ///< all buffers: the result shares no memory with its source
};

/// Memory that was allocated because a buffer could not be shared.
struct copied_buffer {
  void const* address;      ///< first byte
  std::int64_t size;        ///< bytes
  std::string_view reason;  ///< the reason; its text outlives all objects over the memory
};

/// @}

}  // namespace cudf_arrow_bridge
