// SPDX-License-Identifier: Apache-2.0
#include "convert_device.hpp"

// clang-format off
#include <variant>  // before libcudf's transform.hpp, which uses it without including it
// clang-format on

#include <cudf/column/column.hpp>
#include <cudf/null_mask.hpp>
#include <cudf/transform.hpp>
#include <cudf/unary.hpp>

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <array>
#include <memory>
#include <utility>

namespace cudf_arrow_bridge::detail::device {
namespace {

/// A mask as libcudf takes it.
struct aligned_mask {
  cudf::bitmask_type const* words;
  cudf::size_type begin;
};

/// libcudf reads masks as aligned words and counts bits in 32 bits; Arrow promises neither.
aligned_mask align(bit_range const& range)
{
  auto const* first   = static_cast<std::byte const*>(range.bits) + range.begin / 8;
  auto const crooked  = reinterpret_cast<std::uintptr_t>(first) % sizeof(cudf::bitmask_type);
  auto const* aligned = reinterpret_cast<cudf::bitmask_type const*>(first - crooked);
  return {
    aligned,
    static_cast<cudf::size_type>(crooked * 8) + static_cast<cudf::size_type>(range.begin % 8)};
}

rmm::device_buffer take_data(std::unique_ptr<cudf::column> column)
{ return std::move(*column->release().data); }

}  // namespace

rmm::device_buffer pack_bools(void const* bools, cudf::size_type size, placement const& where)
{
  auto const view =
    cudf::column_view{cudf::data_type{cudf::type_id::BOOL8}, size, bools, nullptr, 0};
  return std::move(*cudf::bools_to_mask(view, where.stream, where.mr).first);
}

rmm::device_buffer unpack_bools(bit_range const& range, placement const& where)
{
  auto const mask = align(range);
  auto const end  = mask.begin + static_cast<cudf::size_type>(range.size);
  return take_data(cudf::mask_to_bools(mask.words, mask.begin, end, where.stream, where.mr));
}

rmm::device_buffer copy_bits(bit_range const& range, placement const& where)
{
  auto const mask = align(range);
  auto const end  = mask.begin + static_cast<cudf::size_type>(range.size);
  return cudf::copy_bitmask(mask.words, mask.begin, end, where.stream, where.mr);
}

cudf::size_type count_nulls(bit_range const& range, placement const& where)
{
  auto const mask = align(range);
  auto const end  = mask.begin + static_cast<cudf::size_type>(range.size);
  return cudf::null_count(mask.words, mask.begin, end, where.stream);
}

bool nulls_within(bit_range const& inner, bit_range const& outer, placement const& where)
{
  using words      = cudf::host_span<cudf::bitmask_type const* const>;
  using begins     = cudf::host_span<cudf::size_type const>;
  auto const left  = align(inner);
  auto const right = align(outer);
  auto const masks = std::array{left.words, right.words};
  auto const first = std::array{left.begin, right.begin};
  auto const both  = cudf::bitmask_and(words{masks.data(), masks.size()},
                                      begins{first.data(), first.size()},
                                      static_cast<cudf::size_type>(inner.size),
                                      where.stream,
                                      where.mr);
  return both.second == device::count_nulls(outer, where);
}

rmm::device_buffer cast_values(void const* values,
                               cudf::size_type size,
                               cudf::type_id from,
                               cudf::type_id to,
                               placement const& where)
{
  auto const view = cudf::column_view{cudf::data_type{from}, size, values, nullptr, 0};
  return take_data(cudf::cast(view, cudf::data_type{to}, where.stream, where.mr));
}

rmm::device_buffer zeros(std::int64_t size, placement const& where)
{
  auto result = rmm::device_buffer{static_cast<std::size_t>(size), where.stream, where.mr};
  RMM_CUDA_TRY(cudaMemsetAsync(result.data(), 0, result.size(), where.stream.get()));
  return result;
}

std::int64_t read_integer(void const* source, std::int64_t width, cuda::stream_ref stream)
{
  // Little-endian, as CUDA's hosts are: a narrow value fills the low bytes.
  auto value = std::int64_t{0};
  RMM_CUDA_TRY(cudaMemcpyAsync(
    &value, source, static_cast<std::size_t>(width), cudaMemcpyDefault, stream.get()));
  RMM_CUDA_TRY(cudaStreamSynchronize(stream.get()));
  return width == 4 ? static_cast<std::int32_t>(value) : value;
}

}  // namespace cudf_arrow_bridge::detail::device
