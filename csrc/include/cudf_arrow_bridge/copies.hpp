// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace cudf_arrow_bridge {

/// Whether buffers are copied on their way.
enum class copy_policy : std::int8_t {
  as_needed,  ///< those that cannot be shared
  never,      ///< none: std::invalid_argument names the columns that cannot be shared, and why
  always      ///< all: the result shares no memory with its source
};

/// Memory that was made because a buffer could not be shared.
struct made_memory {
  void const* address;
  std::int64_t size;        ///< bytes
  std::string_view reason;  ///< why; text that outlives everything made of the memory
};

}  // namespace cudf_arrow_bridge
