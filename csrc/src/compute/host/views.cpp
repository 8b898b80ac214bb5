// SPDX-License-Identifier: Apache-2.0
#include "compute/views.hpp"

#include "compute/host_access.hpp"

#include <cudf/column/column.hpp>

#include <nanoarrow/nanoarrow.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numeric>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>

namespace cudf_arrow_bridge::detail::host {
namespace {

using cudf::size_type;
using cudf::type_id;

constexpr std::int64_t max_offset = std::numeric_limits<std::int32_t>::max();

/// @param buffer Data of `size` values
std::unique_ptr<cudf::column> make_column(type_id type,
                                          size_type size,
                                          rmm::device_buffer&& buffer,
                                          execution const& exec)
{
  return std::make_unique<cudf::column>(
    cudf::data_type{type}, size, std::move(buffer), allocate(0, exec), 0);
}

bool is_null(row_mask const& mask, std::int64_t row)
{ return mask.bits != nullptr && !bit_at(mask.bits, row); }

[[noreturn]] void fail_row(column_path const& path, std::int64_t row, std::string const& what)
{ fail_invalid(path, "row " + std::to_string(row) + ": " + what); }

}  // namespace

// -- strings -----------------------------------------------------------------------------------

std::span<std::byte const> bytes_of_view(view_rows const& rows,
                                         std::int64_t row,
                                         column_path const& path)
{
  if (is_null(rows.mask, row)) { return {}; }
  auto const position = rows.begin + row;
  auto const view     = load<ArrowBinaryView>(rows.views, position);
  auto const size     = std::int64_t{view.inlined.size};
  if (size < 0) { fail_row(path, row, "a view of " + std::to_string(size) + " bytes found"); }
  if (size <= NANOARROW_BINARY_VIEW_INLINE_SIZE) {
    constexpr auto skip = offsetof(ArrowBinaryView, inlined.data);
    auto const* inlined =
      static_cast<std::byte const*>(rows.views) + position * std::int64_t{sizeof view} + skip;
    return {inlined, static_cast<std::size_t>(size)};
  }
  auto const buffer = std::int64_t{view.ref.buffer_index};
  auto const offset = std::int64_t{view.ref.offset};
  if (buffer < 0 || buffer >= std::ssize(rows.data)) {
    fail_row(path,
             row,
             "a view into data buffer " + std::to_string(buffer) + " found, of " +
               std::to_string(rows.data.size()));
  }
  auto const* data     = rows.data[static_cast<std::size_t>(buffer)];
  auto const available = load<std::int64_t>(rows.data_sizes, buffer);
  if (data == nullptr || offset < 0 || offset + size > available) {
    fail_row(path,
             row,
             "a view of the bytes " + std::to_string(offset) + " to " +
               std::to_string(offset + size) + " of data buffer " + std::to_string(buffer) +
               " found, which has " + std::to_string(data == nullptr ? 0 : available));
  }
  return {static_cast<std::byte const*>(data) + offset, static_cast<std::size_t>(size)};
}

bool has_prefix(view_rows const& rows, std::int64_t row, std::span<std::byte const> bytes)
{
  auto const view = load<ArrowBinaryView>(rows.views, rows.begin + row);
  // Short strings are stored in the view itself and have no separate prefix.
  return bytes.size() <= NANOARROW_BINARY_VIEW_INLINE_SIZE ||
         std::memcmp(view.ref.prefix, bytes.data(), sizeof view.ref.prefix) == 0;
}

namespace {

template <typename Offset>
rmm::device_buffer copy_strings(view_rows const& rows,
                                rmm::device_buffer& data,
                                column_path const& path,
                                execution const& exec)
{
  auto result = allocate((std::int64_t{rows.size} + 1) * std::int64_t{sizeof(Offset)}, exec);
  auto offset = values_of<Offset>(result).begin();
  auto* begin = static_cast<std::byte*>(data.data());
  auto* out   = begin;
  *offset++   = 0;
  for (size_type row = 0; row < rows.size; ++row) {
    auto const bytes = bytes_of_view(rows, row, path);
    out              = std::copy(bytes.begin(), bytes.end(), out);
    *offset++        = static_cast<Offset>(out - begin);
  }
  return result;
}

// -- lists -------------------------------------------------------------------------------------

}  // namespace

list_range elements_of_view(list_view_rows const& rows, std::int64_t row, column_path const& path)
{
  if (is_null(rows.mask, row)) { return {0, 0}; }
  auto const read = [&](void const* values) {
    return rows.width == 4 ? load<std::int32_t>(values, rows.begin + row)
                           : load<std::int64_t>(values, rows.begin + row);
  };
  auto const list = list_range{read(rows.offsets), read(rows.sizes)};
  if (list.begin < 0 || list.size < 0 || list.begin > rows.num_elements ||
      list.size > rows.num_elements - list.begin) {
    fail_row(path,
             row,
             std::to_string(list.size) + " list elements from " + std::to_string(list.begin) +
               " on found, of " + std::to_string(rows.num_elements));
  }
  return list;
}

namespace {

/// The elements that the lists of some rows refer to.
struct list_extent {
  std::int64_t total{0};                                         ///< sum of the sizes
  std::int64_t first{std::numeric_limits<std::int64_t>::max()};  ///< least element of a list
  std::int64_t end{0};                                           ///< one past the greatest
  bool in_order{true};  ///< each list begins where the one before ends
};

list_extent measure(list_view_rows const& rows, column_path const& path)
{
  auto extent = list_extent{};
  auto next   = std::int64_t{0};
  for (size_type row = 0; row < rows.size; ++row) {
    auto const list = elements_of_view(rows, row, path);
    if (list.size == 0) { continue; }
    extent.in_order = extent.in_order && (extent.total == 0 || list.begin == next);
    // Children without buffers, such as null arrays, may have any length, so the sum may overflow.
    if (__builtin_add_overflow(extent.total, list.size, &extent.total)) {
      extent.total = std::numeric_limits<std::int64_t>::max();
    }
    extent.first = std::min(extent.first, list.begin);
    extent.end   = std::max(extent.end, list.begin + list.size);
    next         = list.begin + list.size;
  }
  if (extent.total == 0) { extent.first = 0; }
  return extent;
}

std::unique_ptr<cudf::column> make_offsets(list_view_rows const& rows,
                                           column_path const& path,
                                           execution const& exec)
{
  auto const count = rows.size + 1;
  auto buffer      = allocate(std::int64_t{count} * 4, exec);
  auto out         = values_of<std::int32_t>(buffer).begin();
  auto offset      = std::int64_t{0};
  *out++           = 0;
  for (size_type row = 0; row < rows.size; ++row) {
    *out++ = static_cast<std::int32_t>(offset += elements_of_view(rows, row, path).size);
  }
  return make_column(type_id::INT32, count, std::move(buffer), exec);
}

std::unique_ptr<cudf::column> make_element_map(list_view_rows const& rows,
                                               list_extent const& extent,
                                               column_path const& path,
                                               execution const& exec)
{
  auto buffer = allocate(extent.total * 4, exec);
  auto out    = values_of<std::int32_t>(buffer).begin();
  for (size_type row = 0; row < rows.size; ++row) {
    auto const list = elements_of_view(rows, row, path);
    auto const end  = out + list.size;
    std::iota(out, end, static_cast<std::int32_t>(list.begin - extent.first));
    out = end;
  }
  return make_column(type_id::INT32, static_cast<size_type>(extent.total), std::move(buffer), exec);
}

}  // namespace

string_buffers strings_from_views(view_rows const& rows,
                                  column_path const& path,
                                  execution const& exec)
{
  auto total = std::int64_t{0};
  for (size_type row = 0; row < rows.size; ++row) {
    total += std::ssize(bytes_of_view(rows, row, path));
  }
  auto data       = allocate(total, exec);
  auto is_large   = total > max_offset;
  auto offsets    = is_large ? copy_strings<std::int64_t>(rows, data, path, exec)
                             : copy_strings<std::int32_t>(rows, data, path, exec);
  auto const type = is_large ? type_id::INT64 : type_id::INT32;
  return {std::move(data), make_column(type, rows.size + 1, std::move(offsets), exec)};
}

gathered_lists lists_from_views(list_view_rows const& rows,
                                column_path const& path,
                                execution const& exec)
{
  auto const extent = measure(rows, path);
  auto const width  = extent.in_order ? extent.total : extent.end - extent.first;
  if (std::max(extent.total, width) >= max_offset) {
    fail<std::overflow_error>(path,
                              "lists of " + std::to_string(extent.total) + " elements among " +
                                std::to_string(width) + " found, fewer than " +
                                std::to_string(max_offset) +
                                " expected: import it as a stream of smaller arrays");
  }
  return {make_offsets(rows, path, exec),
          extent.in_order ? nullptr : make_element_map(rows, extent, path, exec),
          extent.first,
          width};
}

std::unique_ptr<cudf::column> runs_of_rows(run_rows const& rows,
                                           column_path const& path,
                                           execution const& exec)
{
  auto const end_of = [&](std::int64_t run) -> std::int64_t {
    switch (rows.width) {
      case 2: return load<std::int16_t>(rows.ends, run);
      case 4: return load<std::int32_t>(rows.ends, run);
      default: return load<std::int64_t>(rows.ends, run);
    }
  };
  auto buffer    = allocate(std::int64_t{rows.size} * 4, exec);
  auto const out = values_of<std::int32_t>(buffer);
  // Find the first run by binary search, since a slice may begin far inside; step through the rest.
  auto const runs   = std::views::iota(std::int64_t{0}, rows.num_runs);
  auto const before = [&](std::int64_t run) { return end_of(run) <= rows.begin; };
  auto const first  = std::ranges::partition_point(runs, before);
  auto run          = static_cast<std::int64_t>(first - runs.begin());
  for (size_type row = 0; row < rows.size; ++row) {
    while (run < rows.num_runs && end_of(run) <= rows.begin + row) { ++run; }
    if (run == rows.num_runs) {
      fail_row(path, row, "a row behind the last of " + std::to_string(run) + " runs found");
    }
    out[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(run);
  }
  return make_column(type_id::INT32, rows.size, std::move(buffer), exec);
}

}  // namespace cudf_arrow_bridge::detail::host
