// SPDX-License-Identifier: Apache-2.0
/// @file
/// The core's conversions for the simulated device: the ones for the host, but run by the stream.
#include "convert_device.hpp"

#include "convert_host.hpp"
#include "fill_later.hpp"

#include <cudf/null_mask.hpp>
#include <cudf/utilities/traits.hpp>
#include <cudf/utilities/type_dispatcher.hpp>

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

namespace cudf_arrow_bridge::detail::device {
namespace {

using sim::fill_later;

std::size_t mask_size(std::int64_t bits)
{ return cudf::bitmask_allocation_size_bytes(static_cast<cudf::size_type>(bits)); }

std::size_t offsets_size(std::int64_t count)
{ return static_cast<std::size_t>(count) * sizeof(cudf::size_type); }

}  // namespace

rmm::device_buffer pack_bools(void const* bools, cudf::size_type size, placement const& where)
{
  return fill_later(mask_size(size), where, [=](placement const& on_host) {
    return host::pack_bools(bools, size, on_host);
  });
}

rmm::device_buffer unpack_bools(bit_range const& range, placement const& where)
{
  return fill_later(static_cast<std::size_t>(range.size), where, [=](placement const& on_host) {
    return host::unpack_bools(range, on_host);
  });
}

rmm::device_buffer copy_bits(bit_range const& range, placement const& where)
{
  return fill_later(mask_size(range.size), where, [=](placement const& on_host) {
    return host::copy_bits(range, on_host);
  });
}

cudf::size_type count_nulls(bit_range const& range, placement const& where)
{
  auto count = cudf::size_type{0};
  sim::enqueue(where.stream.get(), [&] { count = host::count_nulls(range); });
  RMM_CUDA_TRY(cudaStreamSynchronize(where.stream.get()));
  return count;
}

bool nulls_within(bit_range const& inner, bit_range const& outer, placement const& where)
{
  auto within = false;
  sim::enqueue(where.stream.get(), [&] { within = host::nulls_within(inner, outer); });
  RMM_CUDA_TRY(cudaStreamSynchronize(where.stream.get()));
  return within;
}

rmm::device_buffer cast_values(void const* values,
                               cudf::size_type size,
                               cudf::type_id from,
                               cudf::type_id to,
                               placement const& where)
{
  auto const bytes = static_cast<std::size_t>(size) * cudf::size_of(cudf::data_type{to});
  return fill_later(bytes, where, [=](placement const& on_host) {
    return host::cast_values(values, size, from, to, on_host);
  });
}

rmm::device_buffer widen_halves(void const* halves, cudf::size_type size, placement const& where)
{
  auto const bytes = static_cast<std::size_t>(size) * sizeof(float);
  return fill_later(bytes, where, [=](placement const& on_host) {
    return host::widen_halves(halves, size, on_host);
  });
}

rmm::device_buffer zeros(std::int64_t size, placement const& where)
{
  return fill_later(static_cast<std::size_t>(size), where, [](placement const& on_host) {
    return host::zeros(0, on_host);
  });
}

std::int64_t read_integer(void const* source, std::int64_t width, cuda::stream_ref stream)
{
  auto value = std::int64_t{0};
  sim::enqueue(stream.get(), [&] { value = host::read_integer(source, width); });
  RMM_CUDA_TRY(cudaStreamSynchronize(stream.get()));
  return value;
}

offset_ends read_ends(void const* offsets,
                      std::int64_t size,
                      std::int64_t width,
                      placement const& where)
{
  auto found = offset_ends{};
  sim::enqueue(where.stream.get(), [&] { found = host::read_ends(offsets, size, width); });
  RMM_CUDA_TRY(cudaStreamSynchronize(where.stream.get()));
  return found;
}

rmm::device_buffer narrow_offsets(void const* offsets,
                                  std::int64_t count,
                                  std::int64_t base,
                                  placement const& where)
{
  return fill_later(offsets_size(count), where, [=](placement const& on_host) {
    return host::narrow_offsets(offsets, count, base, on_host);
  });
}

rmm::device_buffer count_up(std::int64_t count, std::int32_t step, placement const& where)
{
  return fill_later(offsets_size(count), where, [=](placement const& on_host) {
    return host::count_up(count, step, on_host);
  });
}

}  // namespace cudf_arrow_bridge::detail::device
