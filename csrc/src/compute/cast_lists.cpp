// SPDX-License-Identifier: Apache-2.0
#include "base/child_column.hpp"
#include "compute/cast.hpp"
#include "compute/host_access.hpp"

#include <nanoarrow/nanoarrow.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace cudf_arrow_bridge::detail {
namespace {

using host::bit_at;
using host::is_null_row;
using host::load;

/// The offsets of the rows of a LIST column.
std::int32_t const* offsets_of(cudf::column_view const& column)
{
  return column.size() == 0 ? nullptr : child_of(column, 0).begin<std::int32_t>() + column.offset();
}

/// A string view in the specification's layout as a little-endian number: 32 bits for the size;
/// then 96 bits of a string of at most 12 bytes, or 32 bits each for the first 4 bytes of a longer
/// one, for the data buffer, and for the offset.
using view_word = __uint128_t;

/// Masks of the first 0 to 12 bytes of a string in its view. Computing them takes longer.
constexpr auto string_masks = [] {
  auto result = std::array<view_word, NANOARROW_BINARY_VIEW_INLINE_SIZE + 1>{};
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = ((view_word{1} << 8 * i) - 1) << 32;
  }
  return result;
}();

/// @param size Negative, or beyond the data, if the offsets are invalid
/// @param end End of the data, which may be after the end of the string
view_word string_view_of(char const* data, std::int64_t begin, std::int64_t size, char const* end)
{
  auto const* bytes = data + begin;
  auto first        = view_word{0};  // the first bytes of the string, then other bytes
  auto const left   = end - bytes;
  if (left >= std::int64_t{sizeof first}) {
    std::memcpy(&first, bytes, sizeof first);
  } else if (size > 0 && size <= left) {
    std::memcpy(&first, bytes, static_cast<std::size_t>(size));
  }
  auto const size_bits = static_cast<std::uint32_t>(size);
  if (size > NANOARROW_BINARY_VIEW_INLINE_SIZE) {
    auto const prefix = static_cast<view_word>(static_cast<std::uint32_t>(first));
    return size_bits | prefix << 32 | static_cast<view_word>(begin) << 96;
  }
  auto const num_bytes = static_cast<std::size_t>(std::max<std::int64_t>(size, 0));
  return size_bits | (first << 32 & string_masks[num_bytes]);
}

template <typename Offset>
void fill_views(byte_strings const& strings, std::span<view_word> views)
{
  auto const* data = static_cast<char const*>(strings.data);
  auto const* end  = data + load<Offset>(strings.offsets, strings.size);
  auto const* mask = strings.mask;
  auto row         = std::int64_t{0};
  auto begin       = std::int64_t{load<Offset>(strings.offsets, 0)};
  for (auto& view : views) {
    auto const valid = mask == nullptr || bit_at(mask, row);
    auto const next  = std::int64_t{load<Offset>(strings.offsets, ++row)};
    view             = valid ? string_view_of(data, begin, next - begin, end) : view_word{0};
    begin            = next;
  }
}

}  // namespace

value_range sizes_of_lists(cudf::column_view const& column, execution const& exec)
{
  if (column.null_count() == column.size()) { return {}; }  // it may have no offsets
  auto const scratch = exec.scratch();
  auto const size    = column.size();
  auto const lengths =
    lengths_between({offsets_of(column), std::int64_t{size} + 1, cudf::type_id::INT32}, scratch);
  auto const has_nulls = column.null_count() > 0;
  auto const mask =
    has_nulls ? copy_bits({column.null_mask(), column.offset(), size}, scratch) : zeros(0, scratch);
  auto const valid =
    flat_view(cudf::type_id::INT32, size, lengths.data(), {mask.data(), column.null_count()});
  return range_of(valid, exec);
}

rmm::device_buffer rows_of_lists(lists_of_size const& lists, execution const& exec)
{
  if (!exec.host) { return device::rows_of_lists(lists, exec); }
  auto const rows = std::int64_t{lists.count} * lists.size;
  auto result     = host::allocate(rows * std::int64_t{sizeof(std::int32_t)}, exec);
  auto* out       = static_cast<std::int32_t*>(result.data());
  for (cudf::size_type list = 0; list < lists.count; ++list) {
    auto const begin = std::int64_t{load<std::int32_t>(lists.begins, list)};
    for (cudf::size_type i = 0; i < lists.size; ++i) {
      auto const row = std::clamp<std::int64_t>(begin + i, lists.first, lists.last);
      *out++         = static_cast<std::int32_t>(row);
    }
  }
  return result;
}

rmm::device_buffer make_views(byte_strings const& strings, execution const& exec)
{
  auto result = host::allocate(std::int64_t{strings.size} * std::int64_t{sizeof(view_word)}, exec);
  if (strings.size == 0) { return result; }
  auto const views = host::values_of<view_word>(result);
  strings.offset_width == 8 ? fill_views<std::int64_t>(strings, views)
                            : fill_views<std::int32_t>(strings, views);
  return result;
}

}  // namespace cudf_arrow_bridge::detail
