// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compute/buffers.hpp"

/// The operations of compute/buffers.hpp on host memory. Operands may be misaligned, and no byte
/// outside the given range is read.
namespace cudf_arrow_bridge::detail::host {

rmm::device_buffer pack_bools(void const* bools, cudf::size_type size, execution const& exec);
rmm::device_buffer unpack_bools(bit_range const& range, execution const& exec);
rmm::device_buffer copy_bits(bit_range const& range, execution const& exec);
cudf::size_type count_nulls(bit_range const& range);
rmm::device_buffer valid_in_both(bit_range const& left,
                                 bit_range const& right,
                                 execution const& exec);
bool nulls_within(bit_range const& inner, bit_range const& outer);
rmm::device_buffer cast_values(void const* values,
                               cudf::size_type size,
                               cudf::type_id from,
                               cudf::type_id to,
                               execution const& exec);
rmm::device_buffer copy_bytes(void const* bytes, std::int64_t size, execution const& exec);
rmm::device_buffer widen_halves(void const* halves, cudf::size_type size, execution const& exec);
rmm::device_buffer gather_strided(stride_range const& range, execution const& exec);
rmm::device_buffer zeros(std::int64_t size, execution const& exec);
offset_ends read_ends(void const* offsets, std::int64_t size, std::int64_t width);
rmm::device_buffer rebase_offsets(offset_range const& offsets,
                                  std::int64_t base,
                                  cudf::type_id to,
                                  execution const& exec);
rmm::device_buffer count_up(std::int64_t count, std::int32_t step, execution const& exec);

}  // namespace cudf_arrow_bridge::detail::host
