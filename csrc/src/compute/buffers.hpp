// SPDX-License-Identifier: Apache-2.0
/// @file
/// The few operations that touch data: each runs on the CPU for host memory and through libcudf's
/// public algorithms for device memory. There they are only enqueued, but for those that return a
/// number; libcudf's sources were read for it.
#pragma once

#include <cudf/column/column_view.hpp>
#include <cudf/types.hpp>

#include <rmm/device_buffer.hpp>
#include <rmm/resource_ref.hpp>

#include <cuda/stream>

#include <cstdint>

namespace cudf_arrow_bridge::detail {

/// Where an operation's operands are and where its result goes.
struct execution {
  bool host;  ///< operands are pageable host memory; the result is `mr`'s all the same
  cuda::stream_ref stream;
  rmm::device_async_resource_ref mr;
};

/// A run of rows in a bitmask.
struct bit_range {
  void const* bits;    ///< first byte of the mask
  std::int64_t begin;  ///< first bit
  std::int64_t size;   ///< bits
};

/// Bytes that `bits` bits take.
constexpr std::int64_t bytes_for_bits(std::int64_t bits) { return (bits + 7) / 8; }

/// Bytes of a mask of so many rows that libcudf makes, and copies: whole blocks of 64 bytes, as of
/// `cudf::bitmask_allocation_size_bytes`.
constexpr std::int64_t padded_mask_size(std::int64_t rows)
{
  constexpr auto block_bits = std::int64_t{512};
  return (rows + block_bits - 1) / block_bits * (block_bits / 8);
}

/// Bools of one byte each to bits; any byte but 0 is true.
rmm::device_buffer pack_bools(void const* bools, cudf::size_type size, execution const& exec);

/// Bits to bools of one byte each, 0 or 1.
rmm::device_buffer unpack_bools(bit_range const& range, execution const& exec);

/// The bits of a range, moved so that the first is bit 0.
rmm::device_buffer copy_bits(bit_range const& range, execution const& exec);

/// @return How many bits of a range are 0. On device memory this waits for the result.
cudf::size_type count_nulls(bit_range const& range, execution const& exec);

/// @return Whether each bit that is 0 in `inner` is 0 in `outer`, a range of as many bits. On
/// device memory this waits for the result.
bool nulls_within(bit_range const& inner, bit_range const& outer, execution const& exec);

/// Values of a fixed-width type to another one, with libcudf's meaning of the types.
rmm::device_buffer cast_values(void const* values,
                               cudf::size_type size,
                               cudf::type_id from,
                               cudf::type_id to,
                               execution const& exec);

/// Floats of 16 bits, which libcudf has no type for, to floats of 32 bits.
rmm::device_buffer widen_halves(void const* halves, cudf::size_type size, execution const& exec);

/// A copy, for buffers that stand too crooked in memory to be used in place.
rmm::device_buffer copy_bytes(void const* bytes, std::int64_t size, execution const& exec);

/// Every so manieth of some values of a fixed-width type.
struct stride_range {
  cudf::column_view values;  ///< without nulls
  cudf::size_type begin;     ///< the first one taken
  cudf::size_type size;      ///< how many are taken
  cudf::size_type stride;    ///< from one to the next; may be 0 or negative
};

/// The values of a range, side by side.
rmm::device_buffer gather_strided(stride_range const& range, execution const& exec);

/// `size` bytes of zeros.
rmm::device_buffer zeros(std::int64_t size, execution const& exec);

/// A mask of so many rows, all of them null, as long as libcudf's masks are.
rmm::device_buffer no_valid_bits(cudf::size_type rows, execution const& exec);

/// `size` bytes, of which some are copies of `count` bytes, from byte `begin` on, and the others
/// zeros.
rmm::device_buffer put_into_zeros(void const* bytes,
                                  std::int64_t count,
                                  std::int64_t begin,
                                  std::int64_t size,
                                  execution const& exec);

/// One offset of 4 or 8 bytes. On device memory this waits for the copy.
std::int64_t read_offset(
  void const* offsets, std::int64_t index, std::int64_t width, bool host, cuda::stream_ref stream);

/// The first and last of some offsets.
struct offset_ends {
  std::int64_t first;
  std::int64_t last;
};

/// The ends of `size` rows' offsets of 4 or 8 bytes each. On device memory this waits once.
offset_ends read_ends(void const* offsets,
                      std::int64_t size,
                      std::int64_t width,
                      execution const& exec);

/// Some offsets where a producer has them, at any address.
struct offset_range {
  void const* first;
  std::int64_t count;
  cudf::type_id type;  ///< INT32 or INT64
};

/// Offsets less `base`, as INT32 or, if they are that already, INT64.
rmm::device_buffer rebase_offsets(offset_range const& offsets,
                                  std::int64_t base,
                                  cudf::type_id to,
                                  execution const& exec);

/// 0, `step`, twice `step` and so on, as 32 bits.
rmm::device_buffer count_up(std::int64_t count, std::int32_t step, execution const& exec);

}  // namespace cudf_arrow_bridge::detail
