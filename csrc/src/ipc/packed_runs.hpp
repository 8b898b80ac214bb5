// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/ipc.hpp>

#include <cstddef>

namespace cudf_arrow_bridge::detail {

/// @return Whether the pieces of a body are its buffers themselves
inline bool is_read_in_place(memory_location const& location)
{
  return location.device_type == ARROW_DEVICE_CPU || location.device_type == ARROW_DEVICE_CUDA_HOST;
}

/// Bytes that lie one after the other in a packed body.
struct packed_run {
  void const* address;  ///< null: zeros, no more than `ipc_alignment`
  std::size_t size;     ///< 0 at the end of the body
};

/// Walks a packed body from its beginning: each buffer, and the zeros behind it.
class packed_runs {
 public:
  /// @param body Must outlive this
  explicit packed_runs(ipc_body const& body) : body_{body} {}

  /// @return What comes next, of one buffer or of the zeros behind it: `limit` bytes at most
  [[nodiscard]] packed_run take(std::size_t limit) noexcept;

 private:
  ipc_body const& body_;
  std::size_t buffer_{0};  ///< that the next run is of
  std::size_t taken_{0};   ///< bytes of it, and of the zeros behind it
};

}  // namespace cudf_arrow_bridge::detail
