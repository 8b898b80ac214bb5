// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compute/convert.hpp"

#include <cudf/binaryop.hpp>
#include <cudf/column/column_view.hpp>

/// The operations of compute/convert.hpp on device memory, enqueued on the placement's stream.
namespace cudf_arrow_bridge::detail::device {

rmm::device_buffer pack_bools(void const* bools, cudf::size_type size, placement const& where);
rmm::device_buffer unpack_bools(bit_range const& range, placement const& where);
rmm::device_buffer copy_bits(bit_range const& range, placement const& where);
cudf::size_type count_nulls(bit_range const& range, placement const& where);

bool nulls_within(bit_range const& inner, bit_range const& outer, placement const& where);
rmm::device_buffer cast_values(void const* values,
                               cudf::size_type size,
                               cudf::type_id from,
                               cudf::type_id to,
                               placement const& where);
rmm::device_buffer widen_halves(void const* halves, cudf::size_type size, placement const& where);
rmm::device_buffer gather_strided(stride_range const& range, placement const& where);
rmm::device_buffer zeros(std::int64_t size, placement const& where);
rmm::device_buffer rebase_offsets(offset_range const& offsets,
                                  std::int64_t base,
                                  cudf::type_id to,
                                  placement const& where);
rmm::device_buffer count_up(std::int64_t count, std::int32_t step, placement const& where);

/// What libcudf makes of two columns without nulls, row by row.
rmm::device_buffer combine(cudf::binary_operator operation,
                           cudf::column_view const& left,
                           cudf::column_view const& right,
                           cudf::type_id to,
                           placement const& where);

}  // namespace cudf_arrow_bridge::detail::device
