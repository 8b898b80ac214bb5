// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compute/buffers.hpp"

#include <rmm/device_buffer.hpp>

#include <cstddef>
#include <cstdint>

namespace cudf_arrow_bridge::detail {

/// Device memory, copied if its address is misaligned for kernels.
class aligned_bytes {
 public:
  aligned_bytes(void const* bytes, std::int64_t size, std::int64_t alignment, execution const& exec)
    : copy_{0, exec.stream, exec.scratch().mr}, first_{bytes}
  {
    if (reinterpret_cast<std::uintptr_t>(bytes) % static_cast<std::uintptr_t>(alignment) == 0) {
      return;
    }
    copy_  = copy_bytes(bytes, size, exec.scratch());
    first_ = copy_.data();
  }

  [[nodiscard]] void const* data() const { return first_; }

 private:
  rmm::device_buffer copy_;
  void const* first_;
};

}  // namespace cudf_arrow_bridge::detail
