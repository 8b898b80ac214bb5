// SPDX-License-Identifier: Apache-2.0
#include "compute/arrow_views.hpp"

#include "compute/cast.hpp"
#include "compute/device/buffers.hpp"
#include "compute/host_access.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <nanoarrow/nanoarrow.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

using namespace host;

using cudf::size_type;
using cudf::type_id;

bool is_null(row_mask const& mask, std::int64_t row)
{ return mask.bits != nullptr && !bit_at(mask.bits, row); }

/// The mask of `size` rows in host memory. Waits for the copy.
rmm::device_buffer mask_on_host(row_mask const& mask, size_type size, cuda::stream_ref stream)
{ return copy_to_host(mask.bits, mask.null_count == 0 ? 0 : bytes_for_bits(size), stream); }

[[noreturn]] void fail_row(column_path const& path, std::int64_t row, std::string const& what)
{ fail_invalid(path, "row " + std::to_string(row) + ": " + what); }

// -- strings -----------------------------------------------------------------------------------

constexpr auto inlined_bytes = std::int64_t{NANOARROW_BINARY_VIEW_INLINE_SIZE};
constexpr auto view_bytes    = std::int64_t{sizeof(ArrowBinaryView)};

/// A view of more bytes than are inlined.
using view_ref = decltype(ArrowBinaryView::ref);

/// @param ref View of more bytes than are inlined
/// @return Their address; null if they are not in a data buffer
std::byte const* find_bytes(view_rows const& rows, view_ref const& ref)
{
  auto const buffer = std::int64_t{ref.buffer_index};
  auto const offset = std::int64_t{ref.offset};
  if (buffer < 0 || buffer >= std::ssize(rows.data)) { return nullptr; }
  auto const* data = static_cast<std::byte const*>(rows.data[static_cast<std::size_t>(buffer)]);
  auto const fits  = offset + ref.size <= load<std::int64_t>(rows.data_sizes, buffer);
  return data != nullptr && offset >= 0 && fits ? data + offset : nullptr;
}

/// @param ref View whose bytes are not in a data buffer
[[noreturn]] void fail_view(view_rows const& rows,
                            std::int64_t row,
                            view_ref const& ref,
                            column_path const& path)
{
  auto const buffer = std::int64_t{ref.buffer_index};
  if (ref.size < 0) {
    fail_row(path, row, "the size of the view is negative: " + std::to_string(ref.size));
  }
  if (buffer < 0 || buffer >= std::ssize(rows.data)) {
    fail_row(path,
             row,
             "expected a view into one of " + std::to_string(rows.data.size()) +
               " data buffers, got buffer " + std::to_string(buffer));
  }
  auto const is_there = rows.data[static_cast<std::size_t>(buffer)] != nullptr;
  fail_row(path,
           row,
           "expected a view within the " +
             std::to_string(is_there ? load<std::int64_t>(rows.data_sizes, buffer) : 0) +
             " bytes of data buffer " + std::to_string(buffer) + ", got bytes " +
             std::to_string(ref.offset) + " to " +
             std::to_string(std::int64_t{ref.offset} + ref.size));
}

}  // namespace

std::span<std::byte const> host::bytes_of_view(view_rows const& rows,
                                               std::int64_t row,
                                               column_path const& path)
{
  if (is_null(rows.mask, row)) { return {}; }
  auto const* view  = static_cast<std::byte const*>(rows.views) + (rows.begin + row) * view_bytes;
  auto const ref    = load<ArrowBinaryView>(view, 0).ref;
  auto const* bytes = ref.size > inlined_bytes ? find_bytes(rows, ref)
                                               : view + offsetof(ArrowBinaryView, inlined.data);
  if (ref.size < 0 || bytes == nullptr) { fail_view(rows, row, ref, path); }
  return {bytes, static_cast<std::size_t>(ref.size)};
}

bool host::has_prefix(view_rows const& rows, std::int64_t row, std::span<std::byte const> bytes)
{
  auto const view = load<ArrowBinaryView>(rows.views, rows.begin + row);
  // Short strings are stored in the view itself and have no separate prefix.
  return bytes.size() <= NANOARROW_BINARY_VIEW_INLINE_SIZE ||
         std::memcmp(view.ref.prefix, bytes.data(), sizeof view.ref.prefix) == 0;
}

namespace {

/// Checks views, and makes the offsets of their strings.
///
/// @throws std::invalid_argument for the first view outside its data buffer
new_offsets offsets_of_views(view_rows const& rows, column_path const& path, execution const& exec)
{
  auto const mask   = rows.mask;
  auto const* views = static_cast<std::byte const*>(rows.views) + rows.begin * view_bytes;
  return make_offsets<std::int32_t>(rows.size, exec, [&, mask, views](std::int64_t row) {
    if (is_null(mask, row)) { return std::int32_t{0}; }
    auto const ref = load<ArrowBinaryView>(views, row).ref;
    if (ref.size > inlined_bytes ? find_bytes(rows, ref) == nullptr : ref.size < 0) {
      (void)bytes_of_view(rows, row, path);
    }
    return ref.size;
  });
}

/// Copies the bytes of checked views.
void copy_strings(view_rows const& rows, std::byte* out, std::byte const* end)
{
  auto const mask  = rows.mask;
  auto const* view = static_cast<std::byte const*>(rows.views) + rows.begin * view_bytes;
  for (size_type row = 0; row < rows.size; ++row, view += view_bytes) {
    if (is_null(mask, row)) { continue; }
    auto const ref      = load<ArrowBinaryView>(view, 0).ref;
    auto const size     = ref.size;
    auto const* inlined = view + offsetof(ArrowBinaryView, inlined.data);
    // Copying a constant size takes a fraction of the time. Extra bytes of an inlined string are
    // overwritten by the next string. Without `likely`, GCC may move the copy of inlined strings
    // out of the loop, which takes 1.3 times as long.
    if (size <= inlined_bytes && end - out >= inlined_bytes) [[likely]] {
      std::memcpy(out, inlined, inlined_bytes);
    } else {
      auto const* bytes = size <= inlined_bytes ? inlined : find_bytes(rows, ref);
      if (size > 0) { std::memcpy(out, bytes, static_cast<std::size_t>(size)); }
    }
    out += size;
  }
}

/// Checks views in device memory. libcudf's public algorithms do not read views, so the views are
/// copied to the host: 16 bytes a row.
void check_on_host(view_rows const& rows, column_path const& path, execution const& exec)
{
  auto const* first = static_cast<std::byte const*>(rows.views) + rows.begin * view_bytes;
  auto const views  = copy_to_host(first, rows.size * view_bytes, exec.stream);
  auto const mask   = mask_on_host(rows.mask, rows.size, exec.stream);
  auto const sizes  = copy_to_host(
    rows.data_sizes, std::ssize(rows.data) * std::int64_t{sizeof(std::int64_t)}, exec.stream);
  auto const copied = view_rows{
    views.data(), 0, rows.size, {mask.data(), rows.mask.null_count}, rows.data, sizes.data()};
  auto const on_host = execution{true, exec.stream, host_memory_resource()};
  (void)offsets_of_views(copied, path, on_host);
}

// -- lists -------------------------------------------------------------------------------------

bool is_within(list_range const& list, std::int64_t num_elements)
{
  return list.begin >= 0 && list.size >= 0 && list.begin <= num_elements &&
         list.size <= num_elements - list.begin;
}

}  // namespace

host::list_range host::elements_of_view(list_view_rows const& rows,
                                        std::int64_t row,
                                        column_path const& path)
{
  if (is_null(rows.mask, row)) { return {0, 0}; }
  auto const read = [&](void const* numbers) {
    auto const* first = static_cast<std::byte const*>(numbers);
    return read_integer(first + (rows.begin + row) * rows.width, rows.width);
  };
  auto const list = list_range{read(rows.offsets), read(rows.sizes)};
  if (!is_within(list, rows.num_elements)) {
    fail_row(path,
             row,
             "expected a view of some of " + std::to_string(rows.num_elements) +
               " list elements, got " + std::to_string(list.size) + " from element " +
               std::to_string(list.begin));
  }
  return list;
}

namespace {

/// Checks list views in device memory, aligned and from row 0. Copies them to the host only to find
/// the first wrong row.
void check_on_device(list_view_rows const& rows, column_path const& path, execution const& exec)
{
  using cudf::binary_operator;
  auto const type      = rows.width == 4 ? type_id::INT32 : type_id::INT64;
  auto const size      = rows.size * rows.width;
  auto const extent_of = [&](binary_operator operation) {
    auto const result = device::combine(operation,
                                        flat_view(type, rows.size, rows.offsets),
                                        flat_view(type, rows.size, rows.sizes),
                                        type,
                                        exec.scratch());
    return range_of(flat_view(type, rows.size, result.data(), rows.mask), exec);
  };
  // The OR is negative if the offset or the size is. If neither is, a sum that is too great for the
  // type is negative.
  auto const either = extent_of(binary_operator::BITWISE_OR);
  auto const ends   = extent_of(binary_operator::ADD);
  if (either.least >= 0 && ends.least >= 0 && ends.greatest <= rows.num_elements) { return; }
  auto const host_offsets = copy_to_host(rows.offsets, size, exec.stream);
  auto const host_sizes   = copy_to_host(rows.sizes, size, exec.stream);
  auto const mask         = mask_on_host(rows.mask, rows.size, exec.stream);
  auto copied             = rows;
  copied.offsets          = host_offsets.data();
  copied.sizes            = host_sizes.data();
  copied.mask.bits        = mask.data();
  for (size_type row = 0; row < rows.size; ++row) { (void)elements_of_view(copied, row, path); }
}

}  // namespace

string_buffers strings_from_views(view_rows const& rows,
                                  column_path const& path,
                                  execution const& exec)
{
  if (!exec.host) {
    check_on_host(rows, path, exec);
    return device::strings_from_views(rows, path, exec);
  }
  auto made   = offsets_of_views(rows, path, exec);
  auto data   = allocate(made.total, exec);
  auto* first = static_cast<std::byte*>(data.data());
  copy_strings(rows, first, first + made.total);
  return {std::move(data), std::move(made.column)};
}

gathered_lists lists_from_views(list_view_rows const& rows,
                                column_path const& path,
                                execution const& exec)
{
  if (!exec.host) {
    auto const aligned = [&](void const* numbers) {
      auto const* first = static_cast<std::byte const*>(numbers) + rows.begin * rows.width;
      return align_bytes(first, rows.size * rows.width, rows.width, exec);
    };
    auto const offsets = aligned(rows.offsets);
    auto const sizes   = aligned(rows.sizes);
    auto const copied  = list_view_rows{
      offsets.data, sizes.data, rows.width, 0, rows.size, rows.mask, rows.num_elements};
    check_on_device(copied, path, exec);
    return device::lists_from_views(copied, path, exec);
  }
  auto first    = std::numeric_limits<std::int64_t>::max();  // least element of a list
  auto end      = std::int64_t{0};                           // one past the greatest
  auto next     = std::int64_t{0};                           // the end of the last list
  auto in_order = true;
  auto made     = make_offsets<std::int32_t>(rows.size, exec, [&](std::int64_t row) {
    auto const list = elements_of_view(rows, row, path);
    // Children without buffers, such as null arrays, may have any length.
    if (list.size > max_rows) { fail_too_many(path, list.size, max_rows, "list elements"); }
    if (list.size > 0) {
      in_order = in_order && (end == 0 || list.begin == next);
      next     = list.begin + list.size;
      first    = std::min(first, list.begin);
      end      = std::max(end, next);
    }
    return list.size;
  });
  first         = std::min(first, end);
  if (auto const most = std::max(made.total, end - first); most > max_rows) {
    fail_too_many(path, most, max_rows, "list elements");
  }
  if (in_order) { return {std::move(made.column), nullptr, first, end - first}; }
  auto buffer = allocate(made.total * std::int64_t{sizeof(size_type)}, exec);
  auto* out   = static_cast<size_type*>(buffer.data());
  for (size_type row = 0; row < rows.size; ++row) {
    auto const list = elements_of_view(rows, row, path);
    std::iota(out, out + list.size, static_cast<size_type>(list.begin - first));
    out += list.size;
  }
  auto const type = cudf::data_type{type_id::INT32};
  return {std::move(made.column),
          make_column(type, made.total, std::move(buffer), exec),
          first,
          end - first};
}

}  // namespace cudf_arrow_bridge::detail
