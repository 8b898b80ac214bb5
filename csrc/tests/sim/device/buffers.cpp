// SPDX-License-Identifier: Apache-2.0
/// @file
/// The operations of compute/device/buffers.hpp on the simulated device. The simulated stream runs
/// the implementations of the host.
#include "compute/device/buffers.hpp"

#include "compute/buffers.hpp"
#include "sim/fill_later.hpp"

#include <cudf/null_mask.hpp>
#include <cudf/utilities/traits.hpp>
#include <cudf/utilities/type_dispatcher.hpp>

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace cudf_arrow_bridge::detail::device {
namespace {

using sim::fill_later;

/// Rejects misaligned values. On a GPU, all CUDA calls fail after a kernel has read one.
void check_alignment(void const* values, std::size_t width)
{
  if (reinterpret_cast<std::uintptr_t>(values) % width != 0) {
    throw std::invalid_argument{"a kernel reads values that are not aligned for their type"};
  }
}

/// A value of an integer column, zero-extended.
std::uint64_t unsigned_at(cudf::column_view const& column, cudf::size_type row)
{
  auto const width = cudf::size_of(column.type());
  auto value       = std::uint64_t{0};
  std::memcpy(&value, column.head<std::byte>() + row * static_cast<std::ptrdiff_t>(width), width);
  return value;
}

/// Computes like libcudf, in a type that holds both operands. A narrower result keeps the low bits.
std::uint64_t operate(cudf::binary_operator operation, std::uint64_t left, std::uint64_t right)
{
  switch (operation) {
    case cudf::binary_operator::ADD: return left + right;
    case cudf::binary_operator::SUB: return left - right;
    case cudf::binary_operator::MOD: return left % right;
    case cudf::binary_operator::SHIFT_RIGHT: return left >> right;
    case cudf::binary_operator::BITWISE_AND: return left & right;
    case cudf::binary_operator::BITWISE_OR: return left | right;
    case cudf::binary_operator::EQUAL: return left == right ? 1 : 0;
    default: throw std::invalid_argument{"an operation that is not simulated"};
  }
}

std::size_t mask_size(std::int64_t bits)
{ return cudf::bitmask_allocation_size_bytes(static_cast<cudf::size_type>(bits)); }

std::size_t offsets_size(std::int64_t count)
{ return static_cast<std::size_t>(count) * sizeof(cudf::size_type); }

}  // namespace

rmm::device_buffer unpack_bools(bit_range const& range, execution const& exec)
{
  return fill_later(static_cast<std::size_t>(range.size), exec, [=](execution const& on_host) {
    return detail::unpack_bools(range, on_host);
  });
}

rmm::device_buffer copy_bits(bit_range const& range, execution const& exec)
{
  return fill_later(mask_size(range.size), exec, [=](execution const& on_host) {
    auto copy = detail::copy_bits(range, on_host);
    // libcudf copies whole words.
    if (range.size % 8 != 0) {
      static_cast<std::uint8_t*>(copy.data())[range.size / 8] |=
        static_cast<std::uint8_t>(0xff << range.size % 8);
    }
    return copy;
  });
}

void clear_bits_after(rmm::device_buffer& bits, std::int64_t size, execution const& exec)
{
  if (size % 8 == 0) { return; }
  sim::enqueue(exec.stream.get(), [=, bytes = static_cast<std::uint8_t*>(bits.data())] {
    bytes[size / 8] &= static_cast<std::uint8_t>((1 << size % 8) - 1);
  });
}

cudf::size_type count_nulls(bit_range const& range, execution const& exec)
{
  auto count = cudf::size_type{0};
  if (range.size == 0) { return count; }  // libcudf is not called
  sim::enqueue(exec.stream.get(),
               [&] { count = detail::count_nulls(range, sim::on_host(exec.stream)); });
  RMM_CUDA_TRY(cudaStreamSynchronize(exec.stream.get()));
  return count;
}

std::vector<cudf::size_type> count_nulls(std::span<bit_range const> ranges, execution const& exec)
{
  auto counts = std::vector<cudf::size_type>{};
  sim::enqueue(exec.stream.get(), [&] {
    for (auto const& range : ranges) {
      counts.push_back(detail::count_nulls(range, sim::on_host(exec.stream)));
    }
  });
  RMM_CUDA_TRY(cudaStreamSynchronize(exec.stream.get()));
  return counts;
}

rmm::device_buffer widen_halves(void const* halves, cudf::size_type size, execution const& exec)
{
  check_alignment(halves, sizeof(std::uint16_t));
  auto const bytes = static_cast<std::size_t>(size) * sizeof(float);
  return fill_later(bytes, exec, [=](execution const& on_host) {
    return detail::widen_halves(halves, size, on_host);
  });
}

rmm::device_buffer greatest_byte(void const* bytes, cudf::size_type size, execution const& exec)
{
  return fill_later(1, exec, [=](execution const& on_host) {
    auto const* first = static_cast<std::uint8_t const*>(bytes);
    return detail::copy_bytes(std::max_element(first, first + size), 1, on_host);
  });
}

rmm::device_buffer interleave(plain_columns const& columns, execution const& exec)
{
  for (auto const* data : columns.data) {
    check_alignment(data, static_cast<std::size_t>(columns.width));
  }
  auto const bytes = std::ssize(columns.data) * columns.rows * columns.width;
  return fill_later(static_cast<std::size_t>(bytes), exec, [=](execution const& on_host) {
    return detail::interleave(columns, on_host);
  });
}

rmm::device_buffer gather_strided(strided_values const& range, execution const& exec)
{
  auto const bytes = static_cast<std::size_t>(range.size()) * cudf::size_of(range.values.type());
  return fill_later(
    bytes, exec, [=](execution const& on_host) { return detail::gather_strided(range, on_host); });
}

rmm::device_buffer combine(cudf::binary_operator operation,
                           cudf::column_view const& left,
                           cudf::column_view const& right,
                           cudf::type_id to,
                           execution const& exec)
{
  auto const type = cudf::data_type{to};
  if (!cudf::binops::is_supported_operation(type, left.type(), right.type(), operation)) {
    throw std::invalid_argument{"libcudf does not combine columns like these"};
  }
  auto const size = static_cast<std::size_t>(left.size()) * cudf::size_of(type);
  auto result     = rmm::device_buffer{size, exec.stream, exec.mr};
  sim::enqueue(exec.stream.get(), [=, target = static_cast<std::byte*>(result.data())] {
    for (cudf::size_type i = 0; i < left.size(); ++i) {
      auto const value = operate(operation, unsigned_at(left, i), unsigned_at(right, i));
      std::memcpy(
        target + i * static_cast<std::ptrdiff_t>(cudf::size_of(type)), &value, cudf::size_of(type));
    }
  });
  return result;
}

rmm::device_buffer rebase_offsets(offset_range const& offsets,
                                  std::int64_t base,
                                  cudf::type_id to,
                                  execution const& exec)
{
  auto const width = cudf::size_of(cudf::data_type{to});
  return fill_later(
    static_cast<std::size_t>(offsets.count) * width, exec, [=](execution const& on_host) {
      return detail::rebase_offsets(offsets, base, to, on_host);
    });
}

rmm::device_buffer count_up(std::int64_t count, std::int32_t step, execution const& exec)
{
  return fill_later(offsets_size(count), exec, [=](execution const& on_host) {
    return detail::count_up(count, step, on_host);
  });
}

}  // namespace cudf_arrow_bridge::detail::device
