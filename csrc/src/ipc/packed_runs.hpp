// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/ipc.hpp>

#include <cstddef>

namespace cudf_arrow_bridge::detail {

/// @return Whether the pieces of a body are its buffers
inline bool is_read_in_place(memory_location const& location)
{
  return location.device_type == ARROW_DEVICE_CPU || location.device_type == ARROW_DEVICE_CUDA_HOST;
}

/// Consecutive bytes of a packed body.
struct packed_run {
  void const* address;  ///< null: zeros, no more than `ipc_alignment`
  std::size_t size;     ///< 0 at the end of the body
};

/// Iterates over a packed body: each buffer, and the zeros after it.
class packed_runs {
 public:
  /// @param body Must outlive this
  explicit packed_runs(ipc_body const& body) : body_{body} {}

  /// @return The next run, of one buffer or of the zeros after it: at most `limit` bytes
  [[nodiscard]] packed_run take(std::size_t limit) noexcept;

 private:
  ipc_body const& body_;
  std::size_t buffer_{0};  ///< the buffer of the next run
  std::size_t taken_{0};   ///< consumed bytes of it and of the zeros after it
};

}  // namespace cudf_arrow_bridge::detail
