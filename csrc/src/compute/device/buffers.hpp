// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compute/buffers.hpp"

#include <cudf/binaryop.hpp>
#include <cudf/column/column_view.hpp>

#include <rmm/device_buffer.hpp>

#include <cstdint>

namespace cudf_arrow_bridge::detail {

/// Memory that is aligned for kernels.
struct aligned_bytes {
  rmm::device_buffer copy;  ///< empty if no copy was needed
  void const* data;
};

/// Copies device memory if its address is misaligned for kernels.
inline aligned_bytes align_bytes(void const* bytes,
                                 std::int64_t size,
                                 std::int64_t alignment,
                                 execution const& exec)
{
  auto const address    = reinterpret_cast<std::uintptr_t>(bytes);
  auto const is_aligned = address % static_cast<std::uintptr_t>(alignment) == 0;
  auto copy             = copy_bytes(bytes, is_aligned ? 0 : size, exec.scratch());
  auto const* data      = is_aligned ? bytes : copy.data();
  return {std::move(copy), data};
}

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
