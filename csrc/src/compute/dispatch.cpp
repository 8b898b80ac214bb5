// SPDX-License-Identifier: Apache-2.0
/// @file
/// The only file that chooses between the CPU and the GPU, by `execution::host`.
#include "compute/buffers.hpp"
#include "compute/cast.hpp"
#include "compute/device/aligned_bytes.hpp"
#include "compute/device/buffers.hpp"
#include "compute/device/cast.hpp"
#include "compute/dictionary.hpp"
#include "compute/gather.hpp"
#include "compute/host/buffers.hpp"
#include "compute/host/cast.hpp"
#include "compute/host_access.hpp"
#include "compute/survey_bits.hpp"
#include "compute/views.hpp"
#include "cuda/transfer/read_back.hpp"

#include <rmm/error.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>

namespace cudf_arrow_bridge::detail {

rmm::device_buffer pack_bools(void const* bools, cudf::size_type size, execution const& exec)
{ return exec.host ? host::pack_bools(bools, size, exec) : device::pack_bools(bools, size, exec); }

rmm::device_buffer unpack_bools(bit_range const& range, execution const& exec)
{ return exec.host ? host::unpack_bools(range, exec) : device::unpack_bools(range, exec); }

rmm::device_buffer copy_bits(bit_range const& range, execution const& exec)
{ return exec.host ? host::copy_bits(range, exec) : device::copy_bits(range, exec); }

rmm::device_buffer valid_in_both(bit_range const& left,
                                 bit_range const& right,
                                 execution const& exec)
{
  if (exec.host) { return host::valid_in_both(left, right, exec); }
  auto const first  = device::copy_bits(left, exec);
  auto const second = device::copy_bits(right, exec);
  auto const rows   = static_cast<cudf::size_type>(left.size);
  return device::valid_in_both(first.data(), second.data(), rows, exec);
}

cudf::size_type count_nulls(bit_range const& range, execution const& exec)
{ return exec.host ? host::count_nulls(range) : device::count_nulls(range, exec); }

std::vector<cudf::size_type> count_nulls(std::span<bit_range const> ranges, execution const& exec)
{
  if (!exec.host) { return device::count_nulls(ranges, exec); }
  auto result = std::vector<cudf::size_type>{};
  result.reserve(ranges.size());
  for (auto const& range : ranges) { result.push_back(host::count_nulls(range)); }
  return result;
}

bool nulls_within(bit_range const& inner, bit_range const& outer, execution const& exec)
{ return exec.host ? host::nulls_within(inner, outer) : device::nulls_within(inner, outer, exec); }

rmm::device_buffer cast_values(void const* values,
                               cudf::size_type size,
                               cudf::type_id from,
                               cudf::type_id to,
                               execution const& exec)
{
  if (exec.host) { return host::cast_values(values, size, from, to, exec); }
  auto const width   = static_cast<std::int64_t>(cudf::size_of(cudf::data_type{from}));
  auto const aligned = aligned_bytes{values, size * width, width, exec};
  return device::cast_values(aligned.data(), size, from, to, exec);
}

rmm::device_buffer widen_halves(void const* halves, cudf::size_type size, execution const& exec)
{
  if (exec.host) { return host::widen_halves(halves, size, exec); }
  constexpr auto width = std::int64_t{sizeof(std::uint16_t)};
  auto const aligned   = aligned_bytes{halves, size * width, width, exec};
  return device::widen_halves(aligned.data(), size, exec);
}

rmm::device_buffer copy_bytes(void const* bytes, std::int64_t size, execution const& exec)
{
  return exec.host
           ? host::copy_bytes(bytes, size, exec)
           : rmm::device_buffer{bytes, static_cast<std::size_t>(size), exec.stream, exec.mr};
}

rmm::device_buffer gather_strided(stride_range const& range, execution const& exec)
{ return exec.host ? host::gather_strided(range, exec) : device::gather_strided(range, exec); }

rmm::device_buffer zeros(std::int64_t size, execution const& exec)
{ return exec.host ? host::zeros(size, exec) : device::zeros(size, exec); }

rmm::device_buffer no_valid_bits(cudf::size_type rows, execution const& exec)
{ return zeros(padded_mask_size(rows), exec); }

rmm::device_buffer copy_zero_padded(void const* bytes,
                                    std::int64_t count,
                                    std::int64_t begin,
                                    std::int64_t size,
                                    execution const& exec)
{
  auto result      = zeros(size, exec);
  auto* target     = static_cast<std::byte*>(result.data()) + begin;
  auto const taken = static_cast<std::size_t>(count);
  if (taken == 0) { return result; }
  if (exec.host) {
    std::memcpy(target, bytes, taken);
  } else {
    RMM_CUDA_TRY(cudaMemcpyAsync(target, bytes, taken, cudaMemcpyDefault, exec.stream.get()));
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
                      execution const& exec)
{
  if (exec.host) { return host::read_ends(offsets, size, width); }
  auto batch       = device::read_batch{exec.stream};
  auto const first = batch.add(offsets, width);
  auto const last  = batch.add(static_cast<std::byte const*>(offsets) + size * width, width);
  batch.enqueue();
  batch.wait();
  return {batch.at(first), batch.at(last)};
}

rmm::device_buffer rebase_offsets(offset_range const& offsets,
                                  std::int64_t base,
                                  cudf::type_id to,
                                  execution const& exec)
{
  return exec.host ? host::rebase_offsets(offsets, base, to, exec)
                   : device::rebase_offsets(offsets, base, to, exec);
}

rmm::device_buffer count_up(std::int64_t count, std::int32_t step, execution const& exec)
{ return exec.host ? host::count_up(count, step, exec) : device::count_up(count, step, exec); }

std::unique_ptr<cudf::column> gather_rows(cudf::column_view const& source,
                                          cudf::column_view const& map,
                                          column_path const& path,
                                          execution const& exec)
{
  return exec.host ? host::gather_rows(source, map, path, exec)
                   : device::gather_rows(source, map, path, exec);
}

string_buffers strings_from_views(view_rows const& rows,
                                  column_path const& path,
                                  execution const& exec)
{
  return exec.host ? host::strings_from_views(rows, path, exec)
                   : device::strings_from_views(rows, exec);
}

gathered_lists lists_from_views(list_view_rows const& rows,
                                column_path const& path,
                                execution const& exec)
{
  return exec.host ? host::lists_from_views(rows, path, exec)
                   : device::lists_from_views(rows, path, exec);
}

std::unique_ptr<cudf::column> repeat_runs(cudf::column_view const& values,
                                          run_rows const& rows,
                                          column_path const& path,
                                          execution const& exec)
{
  if (exec.host) { return host::repeat_runs(values, rows, path, exec); }
  return device::gather_rows(values, device::runs_of_rows(rows, path, exec)->view(), path, exec);
}

dictionary_parts drop_null_keys(cudf::column_view const& indices,
                                cudf::column_view const& keys,
                                row_mask const& mask,
                                column_path const& path,
                                execution const& exec)
{
  return exec.host ? host::drop_null_keys(indices, keys, mask, path, exec)
                   : device::drop_null_keys(indices, keys, mask, exec);
}

std::unique_ptr<cudf::column> decode_dictionary(cudf::column_view const& dictionary,
                                                column_path const& path,
                                                execution const& exec)
{
  return exec.host ? host::decode_dictionary(dictionary, path, exec)
                   : device::decode_dictionary(dictionary, exec);
}

std::unique_ptr<cudf::column> encode_dictionary(cudf::column_view const& column,
                                                execution const& exec)
{
  return exec.host ? host::encode_dictionary(column, exec)
                   : device::encode_dictionary(column, exec);
}

std::unique_ptr<cudf::column> cast_column(cudf::column_view const& column,
                                          cudf::data_type type,
                                          execution const& exec)
{
  return exec.host ? host::cast_column(column, type, exec)
                   : device::cast_column(column, type, exec);
}

value_range range_of(cudf::column_view const& column, execution const& exec)
{ return exec.host ? host::range_of(column) : device::range_of(column, exec); }

bool has_whole_days(cudf::column_view const& column, execution const& exec)
{ return exec.host ? host::has_whole_days(column) : device::has_whole_days(column, exec); }

bool has_lists_of(cudf::column_view const& column, cudf::size_type size, execution const& exec)
{ return exec.host ? host::has_lists_of(column, size) : device::has_lists_of(column, size, exec); }

rmm::device_buffer pad_lists(cudf::column_view const& column,
                             cudf::size_type size,
                             execution const& exec)
{ return exec.host ? host::pad_lists(column, size, exec) : device::pad_lists(column, size, exec); }

rmm::device_buffer rows_of_lists(lists_of_size const& lists, execution const& exec)
{ return exec.host ? host::rows_of_lists(lists, exec) : device::rows_of_lists(lists, exec); }

}  // namespace cudf_arrow_bridge::detail
