// SPDX-License-Identifier: Apache-2.0

#include "compute/buffers.hpp"

#include "compute/bits.hpp"
#include "compute/cast.hpp"
#include "compute/device/buffers.hpp"
#include "compute/host_access.hpp"
#include "cuda/transfer/read_back.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <nanoarrow/nanoarrow.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {
namespace {

using namespace host;

void copy_memory(void* target, void const* source, std::int64_t size, execution const& exec)
{
  auto const bytes = static_cast<std::size_t>(size);
  if (bytes == 0) { return; }
  if (exec.host) {
    std::memcpy(target, source, bytes);
  } else {
    RMM_CUDA_TRY(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, exec.stream.get()));
  }
}

}  // namespace

rmm::device_buffer pack_bools(void const* bools, cudf::size_type size, execution const& exec)
{
  if (!exec.host) { return device::pack_bools(bools, size, exec); }
  auto const* source = static_cast<std::uint8_t const*>(bools);
  return make_bits_of(size, exec, [=](std::int64_t i) { return source[i] != 0; });
}

rmm::device_buffer unpack_bools(bit_range const& range, execution const& exec)
{
  if (!exec.host) { return device::unpack_bools(range, exec); }
  auto result = allocate(range.size, exec);
  ArrowBitsUnpackInt8(static_cast<std::uint8_t const*>(range.bits),
                      range.begin,
                      range.size,
                      static_cast<std::int8_t*>(result.data()));
  return result;
}

bool are_bools(void const* bytes, cudf::size_type size, execution const& exec)
{
  auto const range = range_of(flat_view(cudf::type_id::INT8, size, bytes), exec);
  return range.least >= 0 && range.greatest <= 1;
}

rmm::device_buffer copy_bits(bit_range const& range, execution const& exec)
{
  if (!exec.host) { return device::copy_bits(range, exec); }
  auto const words = bit_words{range};
  return make_bits(range.size, exec, [&](std::int64_t i) { return words[i]; });
}

rmm::device_buffer valid_in_both(bit_range const& left,
                                 bit_range const& right,
                                 execution const& exec)
{
  if (!exec.host) {
    auto const first  = device::copy_bits(left, exec);
    auto const second = device::copy_bits(right, exec);
    auto const rows   = static_cast<cudf::size_type>(left.size);
    return device::valid_in_both(first.data(), second.data(), rows, exec);
  }
  auto const first  = bit_words{left};
  auto const second = bit_words{right};
  return make_bits(left.size, exec, [&](std::int64_t i) { return first[i] & second[i]; });
}

cudf::size_type count_nulls(bit_range const& range, execution const& exec)
{
  if (!exec.host) { return device::count_nulls(range, exec); }
  return static_cast<cudf::size_type>(count_zeros(range));
}

std::vector<cudf::size_type> count_nulls(std::span<bit_range const> ranges, execution const& exec)
{
  if (!exec.host) { return device::count_nulls(ranges, exec); }
  auto result = std::vector<cudf::size_type>{};
  result.reserve(ranges.size());
  for (auto const& range : ranges) { result.push_back(count_nulls(range, exec)); }
  return result;
}

rmm::device_buffer cast_values(void const* values,
                               cudf::size_type size,
                               cudf::type_id from,
                               cudf::type_id to,
                               execution const& exec)
{
  auto const width   = static_cast<std::int64_t>(cudf::size_of(cudf::data_type{from}));
  auto const aligned = align_bytes(values, size * width, width, exec);
  auto column        = cast_column(flat_view(from, size, aligned.data), cudf::data_type{to}, exec);
  return std::move(*column->release().data);
}

rmm::device_buffer widen_halves(void const* halves, cudf::size_type size, execution const& exec)
{
  if (!exec.host) {
    constexpr auto width = std::int64_t{sizeof(std::uint16_t)};
    auto const aligned   = align_bytes(halves, size * width, width, exec);
    return device::widen_halves(aligned.data, size, exec);
  }
  return map_values<std::uint16_t, float>(halves, size, exec, half_to_float);
}

rmm::device_buffer copy_bytes(void const* bytes, std::int64_t size, execution const& exec)
{
  auto result = allocate(size, exec);
  copy_memory(result.data(), bytes, size, exec);
  return result;
}

rmm::device_buffer copy_to_host(void const* bytes, std::int64_t size, cuda::stream_ref stream)
{
  auto result = copy_bytes(bytes, size, {false, stream, host_memory_resource()});
  RMM_CUDA_TRY(cudaStreamSynchronize(stream.get()));
  return result;
}

rmm::device_buffer gather_strided(strided_values const& range, execution const& exec)
{
  if (!exec.host) { return device::gather_strided(range, exec); }
  return with_width(range.values.type(), [&]<typename T>(T) {
    auto result        = allocate(range.size() * std::int64_t{sizeof(T)}, exec);
    auto const* values = range.values.head<void>();
    auto* out          = static_cast<T*>(result.data());
    auto const copy    = [&](auto const& self, std::size_t dimension, std::int64_t index) -> void {
      for (std::int64_t i = 0; i < range.shape[dimension]; ++i) {
        auto const position = index + i * range.strides[dimension];
        if (dimension + 1 == range.shape.size()) {
          *out++ = load<T>(values, position);
        } else {
          self(self, dimension + 1, position);
        }
      }
    };
    copy(copy, 0, range.values.offset() + range.begin);
    return result;
  });
}

rmm::device_buffer interleave(plain_columns const& columns, execution const& exec)
{
  if (!exec.host && columns.rows > 1) { return device::interleave(columns, exec); }
  auto const count = std::ssize(columns.data);
  auto result      = allocate(count * columns.rows * columns.width, exec);
  for (std::int64_t i = 0; i < count; ++i) {
    auto const* source = static_cast<std::byte const*>(columns.data[static_cast<std::size_t>(i)]);
    auto* target       = static_cast<std::byte*>(result.data()) + i * columns.width;
    for (cudf::size_type row = 0; row < columns.rows; ++row) {
      copy_memory(target, source, columns.width, exec);
      source += columns.width;
      target += count * columns.width;
    }
  }
  return result;
}

rmm::device_buffer filled(std::int64_t size, int byte, execution const& exec)
{
  auto result = allocate(size, exec);
  if (exec.host) {
    std::fill_n(static_cast<std::byte*>(result.data()), size, static_cast<std::byte>(byte));
  } else if (size > 0) {
    RMM_CUDA_TRY(cudaMemsetAsync(result.data(), byte, result.size(), exec.stream.get()));
  }
  return result;
}

std::vector<std::int64_t> read_integers(std::span<stored_integer const> places,
                                        bool host,
                                        cuda::stream_ref stream)
{
  auto batch = device::read_back{stream};
  for (auto const& [address, width, is_on_host] : places) {
    if (!host && !is_on_host) { batch.add(address, width); }
  }
  if (!batch.is_empty()) {
    batch.enqueue();
    batch.wait();
  }
  auto result   = std::vector<std::int64_t>{};
  auto num_read = std::size_t{0};
  for (auto const& [address, width, is_on_host] : places) {
    auto const is_read = !host && !is_on_host;
    result.push_back(is_read ? batch.at(num_read++) : read_integer(address, width));
  }
  return result;
}

std::int64_t read_offset(
  void const* offsets, std::int64_t index, std::int64_t width, bool host, cuda::stream_ref stream)
{
  auto const place = stored_integer{static_cast<std::byte const*>(offsets) + index * width, width};
  return read_integers({&place, 1}, host, stream).front();
}

offset_ends read_ends(void const* offsets,
                      std::int64_t size,
                      std::int64_t width,
                      execution const& exec)
{
  auto const* last = static_cast<std::byte const*>(offsets) + size * width;
  if (exec.host) { return {read_integer(offsets, width), read_integer(last, width)}; }
  auto const places = std::array{stored_integer{offsets, width}, stored_integer{last, width}};
  auto const found  = read_integers(places, false, exec.stream);
  return {found.front(), found.back()};
}

rmm::device_buffer lengths_between(offset_range const& offsets, execution const& exec)
{
  auto const type  = cudf::data_type{offsets.type};
  auto const width = static_cast<std::int64_t>(cudf::size_of(type));
  auto const lists = offsets.count - 1;
  if (!exec.host) {
    auto const copied = align_bytes(offsets.first, offsets.count * width, width, exec);
    auto const* first = static_cast<std::byte const*>(copied.data);
    return device::combine(cudf::binary_operator::SUB,
                           flat_view(type.id(), lists, first + width),
                           flat_view(type.id(), lists, first),
                           type.id(),
                           exec);
  }
  return with_width(type, [&]<typename T>(T) {
    auto result = allocate(lists * width, exec);
    for (std::int64_t list = 0; list < lists; ++list) {
      // Offsets may be invalid, so their difference may overflow.
      auto const end = load<T>(offsets.first, list + 1);
      auto& length   = values_of<T>(result)[static_cast<std::size_t>(list)];
      (void)__builtin_sub_overflow(end, load<T>(offsets.first, list), &length);
    }
    return result;
  });
}

list_lengths read_lengths(offset_range const& offsets, execution const& exec)
{
  auto const width    = static_cast<std::int64_t>(cudf::size_of(cudf::data_type{offsets.type}));
  auto const lists    = offsets.count - 1;
  auto const between  = lengths_between(offsets, exec.scratch());
  auto const lengths  = flat_view(offsets.type, lists, between.data());
  auto const as_64bit = [&](offset_ends const& ends, value_range const& range) {
    return list_lengths{
      ends, static_cast<std::int64_t>(range.least), static_cast<std::int64_t>(range.greatest)};
  };
  if (exec.host) {
    return as_64bit(read_ends(offsets.first, lists, width, exec), range_of(lengths, exec));
  }
  auto ends = device::read_back{exec.stream};
  ends.add(offsets.first, width);
  ends.add(static_cast<std::byte const*>(offsets.first) + lists * width, width);
  auto const range = device::range_of(lengths, ends, exec);
  return as_64bit({ends.at(0), ends.at(1)}, range);
}

rmm::device_buffer rebase_offsets(offset_range const& offsets,
                                  std::int64_t base,
                                  cudf::type_id to,
                                  execution const& exec)
{
  if (base == 0) {
    return cast_values(
      offsets.first, static_cast<cudf::size_type>(offsets.count), offsets.type, to, exec);
  }
  if (!exec.host) { return device::rebase_offsets(offsets, base, to, exec); }
  return with_width(cudf::data_type{offsets.type}, [&](auto source) {
    return with_width(cudf::data_type{to}, [&](auto target) {
      return map_values<decltype(source), decltype(target)>(
        offsets.first, offsets.count, exec, [=](auto offset) { return offset - base; });
    });
  });
}

rmm::device_buffer count_up(std::int64_t count, std::int32_t step, execution const& exec)
{
  if (!exec.host) { return device::count_up(count, step, exec); }
  auto result = allocate(count * std::int64_t{sizeof(step)}, exec);
  auto* out   = static_cast<std::int32_t*>(result.data());
  auto next   = std::uint32_t{0};
  for (std::int64_t i = 0; i < count; ++i, next += static_cast<std::uint32_t>(step)) {
    out[i] = static_cast<std::int32_t>(next);
  }
  return result;
}

}  // namespace cudf_arrow_bridge::detail
