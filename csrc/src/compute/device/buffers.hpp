// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compute/buffers.hpp"

#include <cudf/binaryop.hpp>
#include <cudf/column/column_view.hpp>

/// The operations of compute/buffers.hpp on device memory, enqueued on the execution's stream.
namespace cudf_arrow_bridge::detail::device {

rmm::device_buffer pack_bools(void const* bools, cudf::size_type size, execution const& exec);
rmm::device_buffer unpack_bools(bit_range const& range, execution const& exec);
rmm::device_buffer copy_bits(bit_range const& range, execution const& exec);
cudf::size_type count_nulls(bit_range const& range, execution const& exec);

rmm::device_buffer widen_halves(void const* halves, cudf::size_type size, execution const& exec);
rmm::device_buffer gather_strided(strided_values const& range, execution const& exec);
rmm::device_buffer interleave(plain_columns const& columns, execution const& exec);

/// `count` values for each value of an INT32 column: the value, and then values at a distance of
/// `step`. Example: 4 and 9 with count 3 and step 2 become 4, 6, 8, 9, 11, 13.
std::unique_ptr<cudf::column> spread(cudf::column_view const& values,
                                     cudf::size_type count,
                                     cudf::size_type step,
                                     execution const& exec);
rmm::device_buffer zeros(std::int64_t size, execution const& exec);
rmm::device_buffer rebase_offsets(offset_range const& offsets,
                                  std::int64_t base,
                                  cudf::type_id to,
                                  execution const& exec);

/// The least and the greatest difference between neighbors among two or more offsets. Only enqueues
/// work.
rmm::device_buffer length_range(offset_range const& offsets, execution const& exec);
rmm::device_buffer count_up(std::int64_t count, std::int32_t step, execution const& exec);

/// The data of `cudf::binary_operation` on two columns without nulls.
rmm::device_buffer combine(cudf::binary_operator operation,
                           cudf::column_view const& left,
                           cudf::column_view const& right,
                           cudf::type_id to,
                           execution const& exec);

}  // namespace cudf_arrow_bridge::detail::device
