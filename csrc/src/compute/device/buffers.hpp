// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compute/buffers.hpp"

#include <cudf/binaryop.hpp>
#include <cudf/column/column_view.hpp>

#include <rmm/device_buffer.hpp>

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

/// The operations of compute/buffers.hpp on device memory, enqueued on the execution's stream.
namespace cudf_arrow_bridge::detail::device {

decltype(detail::pack_bools) pack_bools;
decltype(detail::unpack_bools) unpack_bools;
decltype(detail::copy_bits) copy_bits;
decltype(detail::widen_halves) widen_halves;
decltype(detail::gather_strided) gather_strided;
decltype(detail::interleave) interleave;
decltype(detail::rebase_offsets) rebase_offsets;
decltype(detail::count_up) count_up;
cudf::size_type count_nulls(bit_range const& range, execution const& exec);
std::vector<cudf::size_type> count_nulls(std::span<bit_range const> ranges, execution const& exec);

/// `count` values for each value of an INT32 column: the value, and then values at a distance of
/// `step`. Example: 4 and 9 with count 3 and step 2 become 4, 6, 8, 9, 11, 13.
std::unique_ptr<cudf::column> spread(cudf::column_view const& values,
                                     cudf::size_type count,
                                     cudf::size_type step,
                                     execution const& exec);

/// The data of `cudf::binary_operation` on two columns without nulls.
rmm::device_buffer combine(cudf::binary_operator operation,
                           cudf::column_view const& left,
                           cudf::column_view const& right,
                           cudf::type_id to,
                           execution const& exec);

}  // namespace cudf_arrow_bridge::detail::device
