// SPDX-License-Identifier: Apache-2.0
#include "compute/device/buffers.hpp"

#include "base/errors.hpp"
#include "compute/buffers.hpp"
#include "cuda/location/location.hpp"
#include "cuda/transfer/staging.hpp"

// clang-format off
#include <variant>  // before libcudf's transform.hpp, which uses it without including it
// clang-format on

#include <cudf/aggregation.hpp>
#include <cudf/binaryop.hpp>
#include <cudf/column/column.hpp>
#include <cudf/copying.hpp>
#include <cudf/filling.hpp>
#include <cudf/null_mask.hpp>
#include <cudf/reduction.hpp>
#include <cudf/reshape.hpp>
#include <cudf/scalar/scalar.hpp>
#include <cudf/table/table.hpp>
#include <cudf/table/table_view.hpp>
#include <cudf/transform.hpp>
#include <cudf/utilities/type_dispatcher.hpp>

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail::device {
namespace {

rmm::device_buffer take_data(std::unique_ptr<cudf::column> column)
{ return std::move(*column->release().data); }

/// Copies host memory to a new buffer.
rmm::device_buffer upload(void const* source, std::size_t size, execution const& exec)
{
  auto result = rmm::device_buffer{size, exec.stream, exec.mr};
  auto copies = host_upload{size, exec.stream};
  copies.copy(result.data(), source, size, size);
  copies.finish();
  return result;
}

/// A column of `count` equal values. libcudf's functions on scalars could create it, but they
/// synchronize.
template <typename T>
std::unique_ptr<cudf::column> constant(T value, std::int64_t count, execution const& exec)
{
  auto const buffer = upload(&value, sizeof value, exec);
  auto const view   = flat_view(cudf::type_to_id<T>(), 1, buffer.data());
  auto result       = cudf::repeat(
    cudf::table_view{{view}}, static_cast<cudf::size_type>(count), exec.stream, exec.mr);
  return std::move(result->release().front());
}

/// The INT32 sequence begin, begin + step, ... of `count` values.
std::unique_ptr<cudf::column> sequence(cudf::size_type begin,
                                       cudf::size_type step,
                                       cudf::size_type count,
                                       execution const& exec)
{
  auto const scalar = [&](cudf::size_type value) {
    return cudf::numeric_scalar<cudf::size_type>{value, true, exec.stream, exec.scratch().mr};
  };
  return cudf::sequence(count, scalar(begin), scalar(step), exec.stream, exec.mr);
}

/// A buffer of `size` bytes that begins with a copy of `count` bytes and ends with zeros.
rmm::device_buffer copy_zero_padded(void const* bytes,
                                    std::int64_t count,
                                    std::int64_t size,
                                    execution const& exec)
{
  auto result = zeros(size, exec);
  RMM_CUDA_TRY(cudaMemcpyAsync(
    result.data(), bytes, static_cast<std::size_t>(count), cudaMemcpyDefault, exec.stream.get()));
  return result;
}

/// A range of bits as libcudf requires it: in aligned words, with 32-bit bit indices. Arrow
/// guarantees neither. The words are copied if the allocation ends within the last word, because
/// libcudf reads it whole.
struct whole_words {
  rmm::device_buffer copy;  ///< empty if the producer's words are used
  cudf::bitmask_type const* data;
  cudf::size_type begin;  ///< the first bit, counted from `data`; less than 32
  cudf::size_type end;
};

/// @throws std::overflow_error if the index of the last bit exceeds `cudf::size_type`
whole_words words_of(bit_range const& range, execution const& exec)
{
  constexpr auto width = std::int64_t{sizeof(cudf::bitmask_type)};
  auto const* first    = static_cast<std::byte const*>(range.bits) + range.begin / 8;
  auto const before =
    static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(first) % std::size_t{width});
  auto const end = before * 8 + range.begin % 8 + range.size;
  if (end > max_offset) {
    throw std::overflow_error{"libcudf reads bitmaps of at most " + std::to_string(max_offset) +
                              " bits from an aligned address, and this one has " +
                              std::to_string(end) + ": exchange fewer rows at a time"};
  }
  void const* words = first - before;
  auto const size   = bytes_for_bits(end);
  auto const whole  = (size + width - 1) / width * width;
  auto copy         = rmm::device_buffer{0, exec.stream, exec.scratch().mr};
  if (ends_before(words, static_cast<std::size_t>(whole))) {
    copy  = copy_zero_padded(words, size, whole, exec.scratch());
    words = copy.data();
  }
  return {std::move(copy),
          static_cast<cudf::bitmask_type const*>(words),
          static_cast<cudf::size_type>(end - range.size),
          static_cast<cudf::size_type>(end)};
}

}  // namespace

rmm::device_buffer unpack_bools(bit_range const& range, execution const& exec)
{
  auto const words = words_of(range, exec);
  return take_data(cudf::mask_to_bools(words.data, words.begin, words.end, exec.stream, exec.mr));
}

rmm::device_buffer greatest_byte(void const* bytes, cudf::size_type size, execution const& exec)
{
  auto const type     = cudf::data_type{cudf::type_id::UINT8};
  auto const greatest = cudf::reduce(flat_view(type.id(), size, bytes),
                                     *cudf::make_max_aggregation<cudf::reduce_aggregation>(),
                                     type,
                                     exec.stream,
                                     exec.scratch().mr);
  auto const* value   = static_cast<cudf::numeric_scalar<std::uint8_t> const&>(*greatest).data();
  return copy_bytes(value, 1, exec);
}

rmm::device_buffer copy_bits(bit_range const& range, execution const& exec)
{
  if (range.begin % 8 == 0) {
    // libcudf would read whole blocks of 64 bytes, which the producer may not have allocated.
    auto const* first = static_cast<std::byte const*>(range.bits) + range.begin / 8;
    return copy_zero_padded(first, bytes_for_bits(range.size), padded_mask_size(range.size), exec);
  }
  auto const words = words_of(range, exec);
  return cudf::copy_bitmask(words.data, words.begin, words.end, exec.stream, exec.mr);
}

void clear_bits_after(rmm::device_buffer& bits, std::int64_t size, execution const& exec)
{
  constexpr auto word_bits = cudf::size_type{32};
  auto const used          = static_cast<cudf::size_type>(size % word_bits);
  if (used == 0) { return; }
  auto* const last = static_cast<cudf::bitmask_type*>(bits.data()) + size / word_bits;
  cudf::set_null_mask(last, used, word_bits, false, exec.stream);
}

cudf::size_type count_nulls(bit_range const& range, execution const& exec)
{
  auto const words = words_of(range, exec);
  return cudf::null_count(words.data, words.begin, words.end, exec.stream);
}

std::vector<cudf::size_type> count_nulls(std::span<bit_range const> ranges, execution const& exec)
{
  auto counts = std::vector<cudf::size_type>{};
  if (ranges.size() < 2) {
    for (auto const& range : ranges) { counts.push_back(device::count_nulls(range, exec)); }
    return counts;
  }
  // `segmented_null_count` counts any number of ranges of one mask, so copy the masks into one.
  constexpr auto word = std::int64_t{sizeof(cudf::bitmask_type)};
  struct mask_copy {
    void const* mask;
    std::int64_t first;   ///< first byte of the mask
    std::int64_t end;     ///< one past its last byte
    std::int64_t target;  ///< first byte of the copy
  };
  auto copies  = std::vector<mask_copy>{};
  auto indices = std::vector<cudf::size_type>{};
  auto size    = word;  // not empty, even if all ranges are
  for (auto const& [mask, begin, rows] : ranges) {
    if (rows == 0) {
      indices.insert(indices.end(), {0, 0});
      continue;
    }
    auto const byte = begin / 8;
    // Ranges of one mask that touch, such as those of batches, are copied together.
    if (copies.empty() || copies.back().mask != mask || byte < copies.back().first ||
        byte > copies.back().end) {
      copies.push_back({mask, byte, byte, size});
    }
    auto& copy       = copies.back();
    copy.end         = std::max(copy.end, bytes_for_bits(begin + rows));
    size             = copy.target + (copy.end - copy.first + word - 1) / word * word;
    auto const first = (copy.target - copy.first) * 8 + begin;
    indices.push_back(static_cast<cudf::size_type>(first));
    indices.push_back(static_cast<cudf::size_type>(first + rows));
  }
  if (size > max_offset / 8) {  // more bits than `segmented_null_count` has indices
    for (auto const half : {ranges.first(ranges.size() / 2), ranges.subspan(ranges.size() / 2)}) {
      auto const part = device::count_nulls(half, exec);
      counts.insert(counts.end(), part.begin(), part.end());
    }
    return counts;
  }
  auto joined = zeros(size, exec.scratch());
  for (auto const& copy : copies) {
    RMM_CUDA_TRY(cudaMemcpyAsync(static_cast<std::byte*>(joined.data()) + copy.target,
                                 static_cast<std::byte const*>(copy.mask) + copy.first,
                                 static_cast<std::size_t>(copy.end - copy.first),
                                 cudaMemcpyDefault,
                                 exec.stream.get()));
  }
  return cudf::segmented_null_count(
    static_cast<cudf::bitmask_type const*>(joined.data()), indices, exec.stream);
}

rmm::device_buffer widen_halves(void const* halves, cudf::size_type size, execution const& exec)
{
  static auto const every_half = [] {
    auto result = std::array<float, 65'536>{};
    for (std::uint32_t i = 0; i < result.size(); ++i) {
      result[i] = half_to_float(static_cast<std::uint16_t>(i));
    }
    return result;
  }();
  // A table of all 65,536 halves, indexed by their bits.
  auto const values = upload(every_half.data(), sizeof every_half, exec.scratch());
  auto const table  = flat_view(cudf::type_id::FLOAT32, std::ssize(every_half), values.data());
  auto gathered     = cudf::gather(cudf::table_view{{table}},
                                   flat_view(cudf::type_id::UINT16, size, halves),
                                   cudf::out_of_bounds_policy::DONT_CHECK,
                                   exec.stream,
                                   exec.mr);
  return take_data(std::move(gathered->release().front()));
}

std::unique_ptr<cudf::column> spread(cudf::column_view const& values,
                                     cudf::size_type count,
                                     cudf::size_type step,
                                     execution const& exec)
{
  auto const scratch = exec.scratch();
  auto const steps   = sequence(0, step, count, scratch);
  // Example: the sum of 4 4 4 9 9 9 and 0 2 4 0 2 4 is 4 6 8 9 11 13.
  auto const repeated = cudf::repeat(cudf::table_view{{values}}, count, exec.stream, scratch.mr);
  auto const tiled =
    cudf::tile(cudf::table_view{{steps->view()}}, values.size(), exec.stream, scratch.mr);
  return cudf::binary_operation(repeated->view().column(0),
                                tiled->view().column(0),
                                cudf::binary_operator::ADD,
                                cudf::data_type{cudf::type_id::INT32},
                                exec.stream,
                                exec.mr);
}

rmm::device_buffer interleave(plain_columns const& columns, execution const& exec)
{
  // Unsigned integers stand for all types of their width.
  auto const type = columns.width == 1   ? cudf::type_id::UINT8
                    : columns.width == 2 ? cudf::type_id::UINT16
                    : columns.width == 4 ? cudf::type_id::UINT32
                                         : cudf::type_id::UINT64;
  auto views      = std::vector<cudf::column_view>{};
  for (auto const* data : columns.data) { views.push_back(flat_view(type, columns.rows, data)); }
  return take_data(cudf::interleave_columns(cudf::table_view{views}, exec.stream, exec.mr));
}

rmm::device_buffer gather_strided(strided_values const& range, execution const& exec)
{
  auto const scratch  = exec.scratch();
  auto const as_index = [](std::int64_t value) { return static_cast<cudf::size_type>(value); };
  auto map =
    sequence(as_index(range.begin), as_index(range.strides[0]), as_index(range.shape[0]), scratch);
  for (std::size_t i = 1; i < range.shape.size(); ++i) {
    map = spread(map->view(), as_index(range.shape[i]), as_index(range.strides[i]), scratch);
  }
  auto gathered = cudf::gather(cudf::table_view{{range.values}},
                               map->view(),
                               cudf::out_of_bounds_policy::DONT_CHECK,
                               cudf::negative_index_policy::NOT_ALLOWED,
                               exec.stream,
                               exec.mr);
  return take_data(std::move(gathered->release().front()));
}

rmm::device_buffer combine(cudf::binary_operator operation,
                           cudf::column_view const& left,
                           cudf::column_view const& right,
                           cudf::type_id to,
                           execution const& exec)
{
  return take_data(
    cudf::binary_operation(left, right, operation, cudf::data_type{to}, exec.stream, exec.mr));
}

rmm::device_buffer rebase_offsets(offset_range const& offsets,
                                  std::int64_t base,
                                  cudf::type_id to,
                                  execution const& exec)
{
  auto const width  = static_cast<std::int64_t>(cudf::size_of(cudf::data_type{offsets.type}));
  auto const copied = align_bytes(offsets.first, offsets.count * width, width, exec);
  auto const view   = flat_view(offsets.type, offsets.count, copied.data);
  auto const bases  = offsets.type == cudf::type_id::INT64
                        ? constant(base, offsets.count, exec.scratch())
                        : constant(static_cast<std::int32_t>(base), offsets.count, exec.scratch());
  return combine(cudf::binary_operator::SUB, view, bases->view(), to, exec);
}

rmm::device_buffer count_up(std::int64_t count, std::int32_t step, execution const& exec)
{
  auto const steps = constant(step, count, exec.scratch());
  return take_data(cudf::scan(steps->view(),
                              *cudf::make_sum_aggregation<cudf::scan_aggregation>(),
                              cudf::scan_type::EXCLUSIVE,
                              cudf::null_policy::EXCLUDE,
                              exec.stream,
                              exec.mr));
}

}  // namespace cudf_arrow_bridge::detail::device
