// SPDX-License-Identifier: Apache-2.0
/// @file
/// The one place that chooses between the CPU and the GPU: each operation goes by its placement.
#include "compute/convert.hpp"
#include "compute/convert_dictionary.hpp"
#include "compute/convert_views.hpp"
#include "compute/device/convert.hpp"
#include "compute/device/recast.hpp"
#include "compute/gather.hpp"
#include "compute/host/convert.hpp"
#include "compute/host/recast.hpp"
#include "compute/host_access.hpp"
#include "compute/recast.hpp"
#include "cuda/transfer/read_back.hpp"

#include <rmm/error.hpp>

#include <cuda_runtime_api.h>

#include <cstring>

namespace cudf_arrow_bridge::detail {

rmm::device_buffer pack_bools(void const* bools, cudf::size_type size, placement const& where)
{
  return where.host ? host::pack_bools(bools, size, where) : device::pack_bools(bools, size, where);
}

rmm::device_buffer unpack_bools(bit_range const& range, placement const& where)
{ return where.host ? host::unpack_bools(range, where) : device::unpack_bools(range, where); }

rmm::device_buffer copy_bits(bit_range const& range, placement const& where)
{ return where.host ? host::copy_bits(range, where) : device::copy_bits(range, where); }

cudf::size_type count_nulls(bit_range const& range, placement const& where)
{ return where.host ? host::count_nulls(range) : device::count_nulls(range, where); }

bool nulls_within(bit_range const& inner, bit_range const& outer, placement const& where)
{
  return where.host ? host::nulls_within(inner, outer) : device::nulls_within(inner, outer, where);
}

rmm::device_buffer cast_values(void const* values,
                               cudf::size_type size,
                               cudf::type_id from,
                               cudf::type_id to,
                               placement const& where)
{
  return where.host ? host::cast_values(values, size, from, to, where)
                    : device::cast_values(values, size, from, to, where);
}

rmm::device_buffer widen_halves(void const* halves, cudf::size_type size, placement const& where)
{
  return where.host ? host::widen_halves(halves, size, where)
                    : device::widen_halves(halves, size, where);
}

rmm::device_buffer copy_bytes(void const* bytes, std::int64_t size, placement const& where)
{
  return where.host
           ? host::copy_bytes(bytes, size, where)
           : rmm::device_buffer{bytes, static_cast<std::size_t>(size), where.stream, where.mr};
}

rmm::device_buffer gather_strided(stride_range const& range, placement const& where)
{ return where.host ? host::gather_strided(range, where) : device::gather_strided(range, where); }

rmm::device_buffer zeros(std::int64_t size, placement const& where)
{ return where.host ? host::zeros(size, where) : device::zeros(size, where); }

rmm::device_buffer no_valid_bits(cudf::size_type rows, placement const& where)
{ return zeros(padded_mask_size(rows), where); }

rmm::device_buffer put_into_zeros(void const* bytes,
                                  std::int64_t count,
                                  std::int64_t begin,
                                  std::int64_t size,
                                  placement const& where)
{
  auto result      = zeros(size, where);
  auto* target     = static_cast<std::byte*>(result.data()) + begin;
  auto const taken = static_cast<std::size_t>(count);
  if (taken == 0) { return result; }
  if (where.host) {
    std::memcpy(target, bytes, taken);
  } else {
    RMM_CUDA_TRY(cudaMemcpyAsync(target, bytes, taken, cudaMemcpyDefault, where.stream.get()));
  }
  return result;
}

std::int64_t read_offset(
  void const* offsets, std::int64_t index, std::int64_t width, bool host, cuda::stream_ref stream)
{
  auto const* source = static_cast<std::byte const*>(offsets) + index * width;
  return host ? host::read_integer(source, width) : device::read_integer(source, width, stream);
}

offset_ends read_ends(void const* offsets,
                      std::int64_t size,
                      std::int64_t width,
                      placement const& where)
{
  if (where.host) { return host::read_ends(offsets, size, width); }
  auto batch       = device::read_batch{where.stream};
  auto const first = batch.add(offsets, width);
  auto const last  = batch.add(static_cast<std::byte const*>(offsets) + size * width, width);
  batch.enqueue();
  batch.wait();
  return {batch.at(first), batch.at(last)};
}

rmm::device_buffer rebase_offsets(offset_range const& offsets,
                                  std::int64_t base,
                                  cudf::type_id to,
                                  placement const& where)
{
  return where.host ? host::rebase_offsets(offsets, base, to, where)
                    : device::rebase_offsets(offsets, base, to, where);
}

rmm::device_buffer count_up(std::int64_t count, std::int32_t step, placement const& where)
{ return where.host ? host::count_up(count, step, where) : device::count_up(count, step, where); }

std::unique_ptr<cudf::column> gather_rows(cudf::column_view const& source,
                                          cudf::column_view const& map,
                                          column_path const& path,
                                          placement const& where)
{
  return where.host ? host::gather_rows(source, map, path, where)
                    : device::gather_rows(source, map, path, where);
}

string_buffers strings_from_views(view_rows const& rows,
                                  column_path const& path,
                                  placement const& where)
{
  return where.host ? host::strings_from_views(rows, path, where)
                    : device::strings_from_views(rows, where);
}

gathered_lists lists_from_views(list_view_rows const& rows,
                                column_path const& path,
                                placement const& where)
{
  return where.host ? host::lists_from_views(rows, path, where)
                    : device::lists_from_views(rows, path, where);
}

std::unique_ptr<cudf::column> runs_of_rows(run_rows const& rows,
                                           column_path const& path,
                                           placement const& where)
{
  return where.host ? host::runs_of_rows(rows, path, where)
                    : device::runs_of_rows(rows, path, where);
}

dictionary_parts drop_null_keys(cudf::column_view const& indices,
                                cudf::column_view const& keys,
                                row_mask const& mask,
                                column_path const& path,
                                placement const& where)
{
  return where.host ? host::drop_null_keys(indices, keys, mask, path, where)
                    : device::drop_null_keys(indices, keys, mask, where);
}

std::unique_ptr<cudf::column> decode_dictionary(cudf::column_view const& dictionary,
                                                column_path const& path,
                                                placement const& where)
{
  return where.host ? host::decode_dictionary(dictionary, path, where)
                    : device::decode_dictionary(dictionary, where);
}

std::unique_ptr<cudf::column> encode_dictionary(cudf::column_view const& column,
                                                placement const& where)
{
  return where.host ? host::encode_dictionary(column, where)
                    : device::encode_dictionary(column, where);
}

std::unique_ptr<cudf::column> cast_column(cudf::column_view const& column,
                                          cudf::data_type type,
                                          placement const& where)
{
  return where.host ? host::cast_column(column, type, where)
                    : device::cast_column(column, type, where);
}

value_range range_of(cudf::column_view const& column, placement const& where)
{ return where.host ? host::range_of(column) : device::range_of(column, where); }

bool has_whole_days(cudf::column_view const& column, placement const& where)
{ return where.host ? host::has_whole_days(column) : device::has_whole_days(column, where); }

bool has_lists_of(cudf::column_view const& column, cudf::size_type size, placement const& where)
{
  return where.host ? host::has_lists_of(column, size) : device::has_lists_of(column, size, where);
}

rmm::device_buffer pad_lists(cudf::column_view const& column,
                             cudf::size_type size,
                             placement const& where)
{
  return where.host ? host::pad_lists(column, size, where) : device::pad_lists(column, size, where);
}

}  // namespace cudf_arrow_bridge::detail
