// SPDX-License-Identifier: Apache-2.0
/// @file
/// Masks in device memory, created with `cudf::binary_operation`. libcudf's `bools_to_mask` is not
/// used because it also counts the bits, and the host waits for the count. Operations with a scalar
/// wait too, to learn whether it is null. Operations on two columns without nulls only enqueue
/// work.
///
/// Example of packing, with the 8 bools 1 0 1 1  0 0 0 1 (bool i becomes bit i):
///
///     to_bytes    01 00 01 01  00 00 00 01    bytes in memory, 0 or 1
///                 0x01010001   0x01000000     read as little-endian UINT32
///     to_nibbles  0x0d         0x08           each modulo 254: 0b1101 and 0b1000
///     to_bits     0x080d                      the two bytes, read as UINT16
///                 0x080d | 0x0080 = 0x088d    OR-ed with itself shifted right by 4
///                 0x8d                        its low byte: 0b10001101
#include "compute/device/buffers.hpp"

#include <cudf/column/column_view.hpp>
#include <cudf/null_mask.hpp>

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>

namespace cudf_arrow_bridge::detail::device {
namespace {

using cudf::binary_operator;
using cudf::type_id;

/// The number of bools, rounded up to whole blocks of 64 bytes of bits. libcudf pads masks to such
/// blocks, and Arrow recommends it.
std::size_t padded_bools(cudf::size_type size)
{
  static_assert(scratch_resource::granularity % 512 == 0);
  return static_cast<std::size_t>(padded_mask_size(size)) * 8;
}

/// `size` bytes of a buffer as a column.
cudf::column_view as(type_id type, rmm::device_buffer const& buffer, std::size_t size)
{
  auto const width = cudf::size_of(cudf::data_type{type});
  return flat_view(type, static_cast<std::int64_t>(size / width), buffer.data());
}

cudf::column_view as(type_id type, rmm::device_buffer const& buffer)
{ return as(type, buffer, buffer.size()); }

/// Normalises bools to bytes of 0 or 1. Zeros follow, up to a whole block of bits: temporary memory
/// is allocated in such blocks.
rmm::device_buffer to_bytes(void const* bools, cudf::size_type size, execution const& exec)
{
  auto result     = cast_values(bools, size, type_id::UINT8, type_id::BOOL8, exec.scratch());
  auto* const end = static_cast<std::byte*>(result.data()) + size;
  RMM_CUDA_TRY(cudaMemsetAsync(end, 0, padded_bools(size) - result.size(), exec.stream.get()));
  return result;
}

/// Packs four bytes of 0 or 1 into the low 4 bits of one byte.
///
/// As UINT32 the bytes b0 to b3 are b0 + b1*256 + b2*256^2 + b3*256^3. Since 256 = 254 + 2, a power
/// 256^i leaves the same remainder modulo 254 as 2^i. So the whole modulo 254 is
/// b0 + b1*2 + b2*4 + b3*8, which is at most 15.
rmm::device_buffer to_nibbles(rmm::device_buffer const& bytes,
                              std::size_t size,
                              execution const& exec)
{
  auto const modulus = filled(static_cast<std::int64_t>(size / 4), 254, exec);
  return combine(binary_operator::MOD,
                 as(type_id::UINT32, bytes, size),
                 as(type_id::UINT8, modulus),
                 type_id::UINT8,
                 exec);
}

/// Packs two nibbles, each in the low half of a byte, into one byte. As UINT16 they are 0x0n0m;
/// shifted right by 4 they are 0x00n0; the low byte of the OR of both is 0xnm.
rmm::device_buffer to_bits(rmm::device_buffer const& nibbles, execution const& exec)
{
  auto const shift   = filled(static_cast<std::int64_t>(nibbles.size() / 2), 4, exec.scratch());
  auto const shifted = combine(binary_operator::SHIFT_RIGHT,
                               as(type_id::UINT16, nibbles),
                               as(type_id::UINT8, shift),
                               type_id::UINT16,
                               exec.scratch());
  return combine(binary_operator::BITWISE_OR,
                 as(type_id::UINT16, nibbles),
                 as(type_id::UINT16, shifted),
                 type_id::UINT8,
                 exec);
}

/// Combines masks as UINT32 columns. `cudf::bitmask_and` would also count nulls, and wait for that.
rmm::device_buffer combine_words(binary_operator operation,
                                 void const* left,
                                 void const* right,
                                 cudf::size_type rows,
                                 execution const& exec)
{
  auto const count = cudf::num_bitmask_words(rows);
  auto const words = [&](void const* bits) { return flat_view(type_id::UINT32, count, bits); };
  return combine(operation, words(left), words(right), type_id::UINT32, exec);
}

}  // namespace

rmm::device_buffer pack_bools(void const* bools, cudf::size_type size, execution const& exec)
{
  if (size == 0) { return rmm::device_buffer{0, exec.stream, exec.mr}; }
  auto const bytes = to_bytes(bools, size, exec);
  return to_bits(to_nibbles(bytes, padded_bools(size), exec.scratch()), exec);
}

rmm::device_buffer valid_in_both(void const* left,
                                 void const* right,
                                 cudf::size_type rows,
                                 execution const& exec)
{ return combine_words(binary_operator::BITWISE_AND, left, right, rows, exec); }

rmm::device_buffer nonempty_nulls(void const* mask,
                                  offset_range const& offsets,
                                  execution const& exec)
{
  auto const width  = static_cast<std::int64_t>(cudf::size_of(cudf::data_type{offsets.type}));
  auto const rows   = static_cast<cudf::size_type>(offsets.count - 1);
  auto const copied = align_bytes(offsets.first, offsets.count * width, width, exec);
  auto const* first = static_cast<std::byte const*>(copied.data);
  auto const empty  = combine(binary_operator::EQUAL,
                              flat_view(offsets.type, rows, first),
                              flat_view(offsets.type, rows, first + width),
                              type_id::BOOL8,
                              exec.scratch());
  auto const bits   = device::pack_bools(empty.data(), rows, exec.scratch());
  return combine_words(binary_operator::BITWISE_OR, mask, bits.data(), rows, exec);
}

}  // namespace cudf_arrow_bridge::detail::device
