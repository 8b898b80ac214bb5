// SPDX-License-Identifier: Apache-2.0
/// @file
/// Bools to bits in device memory, by arithmetic on columns. libcudf's own `bools_to_mask` counts
/// the bits as well, and makes the host wait for the count; so does all of libcudf that takes a
/// scalar, for whether it is null. Operations on two columns without nulls are only enqueued.
#include "compute/device/buffers.hpp"

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>

namespace cudf_arrow_bridge::detail::device {
namespace {

using cudf::binary_operator;
using cudf::type_id;

/// Results are whole blocks of so many bytes, as Arrow recommends, and as libcudf's masks are.
constexpr std::size_t block_bytes = 64;

rmm::device_buffer fill(std::size_t size, int byte, execution const& exec)
{
  auto result = rmm::device_buffer{size, exec.stream, exec.mr};
  RMM_CUDA_TRY(cudaMemsetAsync(result.data(), byte, size, exec.stream.get()));
  return result;
}

cudf::column_view as(type_id type, rmm::device_buffer const& buffer)
{
  auto const size = buffer.size() / cudf::size_of(cudf::data_type{type});
  return {cudf::data_type{type}, static_cast<cudf::size_type>(size), buffer.data(), nullptr, 0};
}

/// One byte of 0 or 1 for each bool, and zeros up to the end of the last block of bits.
rmm::device_buffer to_bytes(void const* bools, cudf::size_type size, execution const& exec)
{
  auto const bytes  = device::cast_values(bools, size, type_id::UINT8, type_id::BOOL8, exec);
  auto const block  = block_bytes * 8;
  auto const padded = (bytes.size() + block - 1) / block * block;
  auto result       = rmm::device_buffer{padded, exec.stream, exec.mr};
  auto* const end   = static_cast<std::byte*>(result.data()) + bytes.size();
  RMM_CUDA_TRY(cudaMemcpyAsync(
    result.data(), bytes.data(), bytes.size(), cudaMemcpyDefault, exec.stream.get()));
  RMM_CUDA_TRY(cudaMemsetAsync(end, 0, padded - bytes.size(), exec.stream.get()));
  return result;
}

/// Four bytes of 0 or 1 to the low half of one. As 256 is 2 modulo 254, so is the sum of
/// b * 256^i that of b * 2^i, which four of them keep below 16.
rmm::device_buffer to_nibbles(rmm::device_buffer const& bytes, execution const& exec)
{
  auto const modulus = fill(bytes.size() / 4, 254, exec);
  return combine(binary_operator::MOD,
                 as(type_id::UINT32, bytes),
                 as(type_id::UINT8, modulus),
                 type_id::UINT8,
                 exec);
}

/// Two nibbles to a byte: the second is moved next to the first, in the low byte of the two.
rmm::device_buffer to_bits(rmm::device_buffer const& nibbles, execution const& exec)
{
  auto const shift = fill(nibbles.size() / 2, 4, exec);
  auto const moved = combine(binary_operator::SHIFT_RIGHT,
                             as(type_id::UINT16, nibbles),
                             as(type_id::UINT8, shift),
                             type_id::UINT16,
                             exec);
  return combine(binary_operator::BITWISE_OR,
                 as(type_id::UINT16, nibbles),
                 as(type_id::UINT16, moved),
                 type_id::UINT8,
                 exec);
}

}  // namespace

rmm::device_buffer pack_bools(void const* bools, cudf::size_type size, execution const& exec)
{
  if (size == 0) { return rmm::device_buffer{0, exec.stream, exec.mr}; }
  return to_bits(to_nibbles(to_bytes(bools, size, exec), exec), exec);
}

}  // namespace cudf_arrow_bridge::detail::device
