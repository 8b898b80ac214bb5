// SPDX-License-Identifier: Apache-2.0
#include "base/child_column.hpp"
#include "compute/cast.hpp"
#include "compute/host_access.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
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

/// A string view in the specification's layout of 16 bytes, as two words.
struct string_view_entry {
  static constexpr std::int64_t inlined = 12;

  std::uint64_t low;   ///< size, then the first 4 bytes of the string
  std::uint64_t high;  ///< bytes 4 to 11 of a short string; else buffer index, offset
};

/// A word whose lowest `count` bytes have all bits, and the others none.
constexpr std::uint64_t low_bytes(std::int64_t count)
{
  auto const bits = static_cast<unsigned>(std::clamp<std::int64_t>(count, 0, 8) * 8);
  return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

/// @param end End of the data, which may be after the end of the string
inline string_view_entry entry_of(char const* data,
                                  std::int64_t begin,
                                  std::int64_t size,
                                  char const* end)
{
  auto const* bytes = data + begin;
  auto first = std::array<std::uint64_t, 2>{};  // the first bytes of the string, then other bytes
  if (end - bytes >= std::int64_t{sizeof first}) {
    std::memcpy(first.data(), bytes, sizeof first);
  } else if (size > 0) {
    std::memcpy(first.data(), bytes, static_cast<std::size_t>(size));
  }
  auto const prefix = first[0] & low_bytes(std::min<std::int64_t>(size, 4));
  auto const rest   = (first[0] >> 32 | first[1] << 32) & low_bytes(size - 4);
  return {static_cast<std::uint64_t>(size) | prefix << 32,
          size > string_view_entry::inlined ? static_cast<std::uint64_t>(begin) << 32 : rest};
}

template <typename Offset>
void fill_views(byte_strings const& strings, std::span<string_view_entry> views)
{
  auto const* data = static_cast<char const*>(strings.data);
  auto const* end  = data + load<Offset>(strings.offsets, strings.size);
  auto const* mask = strings.mask;
  auto row         = std::int64_t{0};
  auto begin       = std::int64_t{load<Offset>(strings.offsets, 0)};
  for (auto& view : views) {
    auto const valid = mask == nullptr || bit_at(mask, row);
    auto const next  = std::int64_t{load<Offset>(strings.offsets, ++row)};
    view             = valid ? entry_of(data, begin, next - begin, end) : string_view_entry{};
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
  return range_of({cudf::data_type{cudf::type_id::INT32},
                   size,
                   lengths.data(),
                   static_cast<cudf::bitmask_type const*>(mask.data()),
                   column.null_count()},
                  exec);
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
  auto result =
    host::allocate(std::int64_t{strings.size} * std::int64_t{sizeof(string_view_entry)}, exec);
  if (strings.size == 0) { return result; }
  auto const views = host::values_of<string_view_entry>(result);
  strings.offset_width == 8 ? fill_views<std::int64_t>(strings, views)
                            : fill_views<std::int32_t>(strings, views);
  return result;
}

}  // namespace cudf_arrow_bridge::detail
