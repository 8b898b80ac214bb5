// SPDX-License-Identifier: Apache-2.0
/// @file
/// Operations on buffers. Each runs on the CPU for host memory and through libcudf's public
/// algorithms for device memory. On device memory only operations that return a number synchronize;
/// the others only enqueue work, as libcudf's sources show.
#pragma once

#include "base/scratch.hpp"
#include "cuda/location/location.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/memory.hpp>

#include <cudf/column/column.hpp>
#include <cudf/column/column_view.hpp>
#include <cudf/types.hpp>

#include <rmm/device_buffer.hpp>
#include <rmm/resource_ref.hpp>

#include <cuda/stream>

#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {

/// Where an operation runs and where its result is allocated.
struct execution {
  execution(bool on_host, cuda::stream_ref on, rmm::device_async_resource_ref results)
    : host{on_host},
      stream{on},
      mr{results},
      temporary{on_host ? nullptr : std::make_shared<scratch_resource>()}
  {
  }

  /// Runs on the CPU for CPU memory, and allocates results by `resource_at`: construct this before
  /// the device of the memory is made current.
  execution(memory_location const& location,
            cuda::stream_ref on,
            rmm::device_async_resource_ref results)
    : execution{location.device_type == ARROW_DEVICE_CPU, on, resource_at(location, results)}
  {
  }

  /// Returns the same execution for temporary memory.
  [[nodiscard]] execution scratch() const
  {
    auto result = *this;
    if (!host) { result.mr = *temporary; }
    return result;
  }

  bool host;  ///< run on the CPU: operands are host memory, and `mr` must allocate host memory
  cuda::stream_ref stream;
  rmm::device_async_resource_ref mr;            ///< allocates results
  std::shared_ptr<scratch_resource> temporary;  ///< null on the host
};

/// A column's mask, aligned to `cudf::bitmask_type`. Bit 0 is that of the first row.
struct row_mask {
  void const* bits;  ///< null: no row is null
  cudf::size_type null_count;
};

/// A buffer as a column.
inline cudf::column_view flat_view(cudf::type_id type,
                                   std::int64_t size,
                                   void const* data,
                                   row_mask const& mask = {nullptr, 0})
{
  auto const* bits = static_cast<cudf::bitmask_type const*>(mask.bits);
  return {cudf::data_type{type}, static_cast<cudf::size_type>(size), data, bits, mask.null_count};
}

/// A column of `size` fixed-width values without nulls.
inline std::unique_ptr<cudf::column> make_column(cudf::data_type type,
                                                 std::int64_t size,
                                                 rmm::device_buffer&& values,
                                                 execution const& exec)
{
  auto no_mask = rmm::device_buffer{0, exec.stream, exec.mr};
  return std::make_unique<cudf::column>(
    type, static_cast<cudf::size_type>(size), std::move(values), std::move(no_mask), 0);
}

/// A range of bits in a bitmask.
struct bit_range {
  void const* bits;    ///< first byte of the mask
  std::int64_t begin;  ///< first bit
  std::int64_t size;   ///< bits
};

/// Bytes needed for `bits` bits.
constexpr std::int64_t bytes_for_bits(std::int64_t bits) { return (bits + 7) / 8; }

/// Bytes that libcudf allocates and copies for the mask of `rows` rows: a multiple of 64, as in
/// `cudf::bitmask_allocation_size_bytes`.
constexpr std::int64_t padded_mask_size(std::int64_t rows) { return (rows + 511) / 512 * 64; }

/// Packs bools of one byte each into bits. Any byte but 0 is true.
rmm::device_buffer pack_bools(void const* bools, cudf::size_type size, execution const& exec);

/// Unpacks bits into bools of one byte each, 0 or 1.
rmm::device_buffer unpack_bools(bit_range const& range, execution const& exec);

/// @return Whether all bytes are 0 or 1, as libcudf's bools must be. Waits on device memory.
bool are_bools(void const* bytes, cudf::size_type size, execution const& exec);

/// Copies a range of bits; its first bit becomes bit 0.
rmm::device_buffer copy_bits(bit_range const& range, execution const& exec);

/// Copies a range of bits and clears those that are 0 in another range of the same size; the first
/// bit becomes bit 0.
rmm::device_buffer valid_in_both(bit_range const& left,
                                 bit_range const& right,
                                 execution const& exec);

/// @return The number of bits of a range that are 0. Waits for the result on device memory.
cudf::size_type count_nulls(bit_range const& range, execution const& exec);

/// @return The number of bits of each range that are 0. Waits once on device memory, whatever the
/// number of ranges (more often for more than 2^31 bits).
std::vector<cudf::size_type> count_nulls(std::span<bit_range const> ranges, execution const& exec);

/// Casts values of a fixed-width type to another type, as `cudf::cast` does.
rmm::device_buffer cast_values(void const* values,
                               cudf::size_type size,
                               cudf::type_id from,
                               cudf::type_id to,
                               execution const& exec);

/// Converts 16-bit floats, for which libcudf has no type, to 32-bit floats.
rmm::device_buffer widen_halves(void const* halves, cudf::size_type size, execution const& exec);

/// Copies a buffer, for example one that is misaligned for its type.
rmm::device_buffer copy_bytes(void const* bytes, std::int64_t size, execution const& exec);

/// Copies device memory to host memory, and waits for the copy.
rmm::device_buffer copy_to_host(void const* bytes, std::int64_t size, cuda::stream_ref stream);

/// Values of a fixed-width column at evenly spaced indices of one or more dimensions, in row-major
/// order. Example: begin 1, shape {2, 3}, strides {10, 2} are the values 1, 3, 5, 11, 13, 15.
struct strided_values {
  cudf::column_view values;  ///< without nulls
  std::int64_t begin;        ///< index of the first value
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< steps between indices; may be 0 or negative

  /// @return The number of values
  [[nodiscard]] std::int64_t size() const
  { return std::reduce(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies{}); }
};

/// Gathers values into a contiguous buffer.
rmm::device_buffer gather_strided(strided_values const& range, execution const& exec);

/// Columns of `rows` values of `width` bytes: 1, 2, 4 or 8, or any number if there is one row.
struct plain_columns {
  std::vector<void const*> data;
  cudf::size_type rows;
  std::int64_t width;
};

/// Copies columns to one buffer, row by row. The values of a single row may be misaligned.
rmm::device_buffer interleave(plain_columns const& columns, execution const& exec);

/// `size` equal bytes.
rmm::device_buffer filled(std::int64_t size, int byte, execution const& exec);

/// `size` bytes of zeros.
inline rmm::device_buffer zeros(std::int64_t size, execution const& exec)
{ return filled(size, 0, exec); }

/// The place of an integer in memory.
struct stored_integer {
  void const* address;
  std::int64_t width;      ///< bytes: 2, 4 or 8
  bool is_on_host{false};  ///< in host memory, also if other memory is on a device
};

/// Reads integers. Waits once if there are any in device memory.
std::vector<std::int64_t> read_integers(std::span<stored_integer const> places,
                                        bool host,
                                        cuda::stream_ref stream);

/// Reads the offset, size or run end at `index`, of `width` (2, 4 or 8) bytes. Waits for the copy
/// from device memory.
std::int64_t read_offset(
  void const* offsets, std::int64_t index, std::int64_t width, bool host, cuda::stream_ref stream);

/// The first and last offset of a range.
struct offset_ends {
  std::int64_t first;
  std::int64_t last;
};

/// Reads the first and last of the `size + 1` offsets of `size` rows, each of `width` (4 or 8)
/// bytes. Waits once on device memory.
offset_ends read_ends(void const* offsets,
                      std::int64_t size,
                      std::int64_t width,
                      execution const& exec);

/// Offsets in a producer's memory, possibly misaligned.
struct offset_range {
  void const* first;
  std::int64_t count;
  cudf::type_id type;  ///< INT32 or INT64
};

/// The lengths of the lists between offsets.
struct list_lengths {
  offset_ends ends;
  std::int64_t least;
  std::int64_t greatest;
};

/// The differences between neighbors among one or more offsets, of the type of the offsets.
rmm::device_buffer lengths_between(offset_range const& offsets, execution const& exec);

/// Reads the first and last of two or more offsets, and the range of the differences between
/// neighbors. Waits once on device memory.
list_lengths read_lengths(offset_range const& offsets, execution const& exec);

/// Subtracts `base` from offsets.
/// @param to Type of the result: INT32; or INT64, if the offsets are INT64
rmm::device_buffer rebase_offsets(offset_range const& offsets,
                                  std::int64_t base,
                                  cudf::type_id to,
                                  execution const& exec);

/// The INT32 sequence 0, step, 2 * step, ... of `count` values.
rmm::device_buffer count_up(std::int64_t count, std::int32_t step, execution const& exec);

/// Converts an IEEE 754 binary16 value to binary32. NaNs keep their sign and payload. All cases are
/// computed and one is chosen, so that compilers vectorise loops of it.
constexpr float half_to_float(std::uint16_t half) noexcept
{
  // In binary32, the exponent of the same bits is less by 127 - 15. The bits of a subnormal value
  // are converted as an integer, since threads may read subnormal floats as zeros.
  auto const normal   = std::bit_cast<float>((half & 0x7FFFU) << 13) * 0x1p112F;
  auto const small    = static_cast<float>(half & 0x3FF) * 0x1p-24F;
  auto const value    = (half & 0x7C00U) == 0 ? small : normal;
  auto const infinite = (half & 0x7C00U) == 0x7C00U ? 0x7F80'0000U : 0U;  // or NaN
  auto const sign     = (half & 0x8000U) << 16;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | infinite | sign);
}

/// Operations that exist for device memory alone. They only enqueue work.
namespace device {
/// The AND of two masks, both aligned to `cudf::bitmask_type`.
rmm::device_buffer valid_in_both(void const* left,
                                 void const* right,
                                 cudf::size_type rows,
                                 execution const& exec);

/**
 * @brief A mask in which a row is null if it is null in `mask` and not empty.
 *
 * @param mask Mask of string or list rows, aligned to `cudf::bitmask_type`
 * @param offsets Offsets of the rows, one more than there are rows
 */
rmm::device_buffer nonempty_nulls(void const* mask,
                                  offset_range const& offsets,
                                  execution const& exec);

/// The greatest of `size` bytes, at least one.
rmm::device_buffer greatest_byte(void const* bytes, cudf::size_type size, execution const& exec);

/// Clears the bits after the first `size` of a result of `copy_bits`, in their last word. Copies in
/// device memory have bits of the source there.
void clear_bits_after(rmm::device_buffer& bits, std::int64_t size, execution const& exec);
}  // namespace device

}  // namespace cudf_arrow_bridge::detail
