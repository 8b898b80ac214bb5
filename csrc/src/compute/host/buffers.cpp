// SPDX-License-Identifier: Apache-2.0
#include "compute/host/buffers.hpp"

#include "compute/halves.hpp"
#include "compute/host_access.hpp"

#include <cudf/utilities/error.hpp>
#include <cudf/utilities/traits.hpp>
#include <cudf/utilities/type_dispatcher.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>

namespace cudf_arrow_bridge::detail::host {
namespace {

constexpr std::int64_t offset_bytes = sizeof(cudf::size_type);

/// A zeroed bitmask, padded to 64 bytes as libcudf's masks are and Arrow recommends.
rmm::device_buffer allocate_bits(std::int64_t bits, execution const& exec)
{ return host::zeros(padded_mask_size(bits), exec); }

template <typename T>
rmm::device_buffer gather(stride_range const& range, execution const& exec)
{
  auto result        = allocate(std::int64_t{range.size} * std::int64_t{sizeof(T)}, exec);
  auto const* values = range.values.head<void>();
  auto index         = std::int64_t{range.values.offset()} + range.begin;
  for (auto& target : values_of<T>(result)) {
    target = load<T>(values, index);
    index += range.stride;
  }
  return result;
}

template <typename From, typename To>
rmm::device_buffer scale(void const* values, cudf::size_type size, To factor, execution const& exec)
{
  auto result = allocate(std::int64_t{size} * std::int64_t{sizeof(To)}, exec);
  auto row    = std::int64_t{0};
  for (auto& out : values_of<To>(result)) {
    out = static_cast<To>(static_cast<To>(load<From>(values, row++)) * factor);
  }
  return result;
}

/// Calls `use` with a value of the C++ type of an integer `type_id`.
template <typename Use>
rmm::device_buffer with_integer(cudf::type_id type, Use use)
{
  using cudf::type_id;
  switch (type) {
    case type_id::INT8: return use(std::int8_t{});
    case type_id::INT16: return use(std::int16_t{});
    case type_id::INT32: return use(std::int32_t{});
    case type_id::INT64: return use(std::int64_t{});
    case type_id::UINT8: return use(std::uint8_t{});
    case type_id::UINT16: return use(std::uint16_t{});
    case type_id::UINT32: return use(std::uint32_t{});
    case type_id::UINT64: return use(std::uint64_t{});
    default: throw cudf::logic_error{"no such conversion on host memory"};
  }
}

}  // namespace

rmm::device_buffer pack_bools(void const* bools, cudf::size_type size, execution const& exec)
{
  auto result        = allocate_bits(size, exec);
  auto const* source = static_cast<std::uint8_t const*>(bools);
  auto* bits         = static_cast<std::uint8_t*>(result.data());
  for (cudf::size_type i = 0; i < size; ++i) {
    auto const bit = static_cast<unsigned>(source[i] != 0) << (i % 8);
    bits[i / 8]    = static_cast<std::uint8_t>(bits[i / 8] | bit);
  }
  return result;
}

rmm::device_buffer unpack_bools(bit_range const& range, execution const& exec)
{
  auto result      = allocate(range.size, exec);
  auto const* bits = static_cast<std::uint8_t const*>(range.bits);
  auto* bools      = static_cast<std::uint8_t*>(result.data());
  for (std::int64_t i = 0; i < range.size; ++i) {
    bools[i] = bit_at(bits, range.begin + i) ? 1 : 0;
  }
  return result;
}

rmm::device_buffer copy_bits(bit_range const& range, execution const& exec)
{
  auto result        = allocate_bits(range.size, exec);
  auto const* source = static_cast<std::uint8_t const*>(range.bits) + range.begin / 8;
  auto* target       = static_cast<std::uint8_t*>(result.data());
  auto const shift   = static_cast<unsigned>(range.begin % 8);
  auto const needed  = bytes_for_bits(range.begin % 8 + range.size);
  for (std::int64_t i = 0; i < bytes_for_bits(range.size); ++i) {
    auto const low  = static_cast<unsigned>(source[i]) >> shift;
    auto const high = i + 1 < needed ? static_cast<unsigned>(source[i + 1]) << (8 - shift) : 0U;
    target[i]       = static_cast<std::uint8_t>(low | high);
  }
  return result;
}

rmm::device_buffer valid_in_both(void const* left,
                                 void const* right,
                                 cudf::size_type rows,
                                 execution const& exec)
{
  auto result             = host::copy_bits({left, 0, rows}, exec);
  auto const* other_bytes = static_cast<std::uint8_t const*>(right);
  auto const count        = static_cast<std::size_t>(bytes_for_bits(rows));
  for (auto& byte : values_of<std::uint8_t>(result).first(count)) {
    byte = static_cast<std::uint8_t>(byte & *other_bytes++);
  }
  return result;
}

cudf::size_type count_nulls(bit_range const& range)
{
  auto const* bits = static_cast<std::uint8_t const*>(range.bits);
  auto valid       = std::int64_t{0};
  auto i           = range.begin;
  auto const end   = range.begin + range.size;
  for (; i < end && i % 8 != 0; ++i) { valid += bit_at(bits, i) ? 1 : 0; }
  for (; i + 64 <= end; i += 64) { valid += std::popcount(load<std::uint64_t>(bits + i / 8, 0)); }
  for (; i < end; ++i) { valid += bit_at(bits, i) ? 1 : 0; }
  return static_cast<cudf::size_type>(range.size - valid);
}

bool nulls_within(bit_range const& inner, bit_range const& outer)
{
  auto const* inner_bits = static_cast<std::uint8_t const*>(inner.bits);
  auto const* outer_bits = static_cast<std::uint8_t const*>(outer.bits);
  for (std::int64_t i = 0; i < inner.size; ++i) {
    if (!bit_at(inner_bits, inner.begin + i) && bit_at(outer_bits, outer.begin + i)) {
      return false;
    }
  }
  return true;
}

rmm::device_buffer cast_values(void const* values,
                               cudf::size_type size,
                               cudf::type_id from,
                               cudf::type_id to,
                               execution const& exec)
{
  using cudf::type_id;
  if (from == type_id::DURATION_DAYS && to == type_id::DURATION_SECONDS) {
    return scale<std::int32_t, std::int64_t>(values, size, 86'400, exec);
  }
  auto const storage =
    to == type_id::DURATION_SECONDS || to == type_id::DURATION_MILLISECONDS ? type_id::INT64 : to;
  return with_integer(from, [&](auto source) {
    return with_integer(storage, [&](auto target) {
      return scale<decltype(source), decltype(target)>(values, size, 1, exec);
    });
  });
}

rmm::device_buffer widen_halves(void const* halves, cudf::size_type size, execution const& exec)
{
  auto result = allocate(std::int64_t{size} * std::int64_t{sizeof(float)}, exec);
  auto* out   = static_cast<float*>(result.data());
  for (cudf::size_type i = 0; i < size; ++i) {
    out[i] = half_to_float(load<std::uint16_t>(halves, i));
  }
  return result;
}

rmm::device_buffer copy_bytes(void const* bytes, std::int64_t size, execution const& exec)
{
  auto result = allocate(size, exec);
  std::copy_n(static_cast<std::byte const*>(bytes), size, static_cast<std::byte*>(result.data()));
  return result;
}

rmm::device_buffer gather_strided(stride_range const& range, execution const& exec)
{
  switch (cudf::size_of(range.values.type())) {
    case 1: return gather<std::uint8_t>(range, exec);
    case 2: return gather<std::uint16_t>(range, exec);
    case 4: return gather<std::uint32_t>(range, exec);
    default: return gather<std::uint64_t>(range, exec);
  }
}

rmm::device_buffer zeros(std::int64_t size, execution const& exec)
{
  auto result = allocate(size, exec);
  std::fill_n(static_cast<std::byte*>(result.data()), size, std::byte{});
  return result;
}

offset_ends read_ends(void const* offsets, std::int64_t size, std::int64_t width)
{
  return {read_integer(offsets, width),
          read_integer(static_cast<std::byte const*>(offsets) + size * width, width)};
}

rmm::device_buffer rebase_offsets(offset_range const& offsets,
                                  std::int64_t base,
                                  cudf::type_id to,
                                  execution const& exec)
{
  return with_integer(offsets.type, [&](auto source) {
    return with_integer(to, [&](auto target) {
      using source_type = decltype(source);
      using target_type = decltype(target);
      auto rebased      = allocate(offsets.count * std::int64_t{sizeof(target_type)}, exec);
      auto index        = std::int64_t{0};
      for (auto& offset : values_of<target_type>(rebased)) {
        offset = static_cast<target_type>(load<source_type>(offsets.first, index++) - base);
      }
      return rebased;
    });
  });
}

rmm::device_buffer count_up(std::int64_t count, std::int32_t step, execution const& exec)
{
  auto result = allocate(count * offset_bytes, exec);
  auto* out   = static_cast<std::int32_t*>(result.data());
  for (std::int64_t i = 0; i < count; ++i) { out[i] = static_cast<std::int32_t>(i * step); }
  return result;
}

}  // namespace cudf_arrow_bridge::detail::host
