// SPDX-License-Identifier: Apache-2.0
#include "base/child_column.hpp"
#include "compute/host/buffers.hpp"
#include "compute/host/cast.hpp"
#include "compute/host_access.hpp"

#include <algorithm>
#include <cstddef>

namespace cudf_arrow_bridge::detail {
namespace {

using host::bit_at;
using host::load;

/// Rows of a LIST column in host memory; row 0 is at the column's offset.
class list_rows {
 public:
  explicit list_rows(cudf::column_view const& column) : column_{column}
  {
    if (column.null_count() > 0) {
      mask_ = reinterpret_cast<std::uint8_t const*>(column.null_mask());
    }
    if (column.size() > 0) { offsets_ = child_of(column, 0).begin<std::int32_t>(); }
  }

  [[nodiscard]] bool is_valid(cudf::size_type row) const
  { return mask_ == nullptr || bit_at(mask_, column_.offset() + row); }

  [[nodiscard]] std::int32_t begin(cudf::size_type row) const
  { return load<std::int32_t>(offsets_, column_.offset() + row); }

  [[nodiscard]] std::int32_t size(cudf::size_type row) const { return begin(row + 1) - begin(row); }

 private:
  cudf::column_view column_;
  std::uint8_t const* mask_{nullptr};
  void const* offsets_{nullptr};
};

/// A string view in the specification's layout of 16 bytes.
struct string_view_entry {
  static constexpr std::int64_t inlined = 12;

  std::int32_t size;
  char bytes[inlined];  ///< a short string; else prefix, buffer index, offset (4 bytes each)
};

string_view_entry entry_of(char const* data, std::int64_t begin, std::int64_t end)
{
  auto entry = string_view_entry{static_cast<std::int32_t>(end - begin), {}};
  if (end - begin <= string_view_entry::inlined) {
    std::copy(data + begin, data + end, entry.bytes);
    return entry;
  }
  auto const offset = static_cast<std::int32_t>(begin);
  std::copy_n(data + begin, 4, entry.bytes);
  std::memcpy(entry.bytes + 8, &offset, sizeof(offset));
  return entry;
}

}  // namespace

bool host::has_lists_of(cudf::column_view const& column, cudf::size_type size)
{
  auto const lists = list_rows{column};
  for (cudf::size_type row = 0; row < column.size(); ++row) {
    if (lists.is_valid(row) && lists.size(row) != size) { return false; }
  }
  return true;
}

rmm::device_buffer host::pad_lists(cudf::column_view const& column,
                                   cudf::size_type size,
                                   execution const& exec)
{
  auto const lists  = list_rows{column};
  auto const* bytes = child_of(column, 1).head<std::byte>() + child_of(column, 1).offset();
  auto result       = host::zeros(std::int64_t{column.size()} * size, exec);
  auto* out         = static_cast<std::byte*>(result.data());
  for (cudf::size_type row = 0; row < column.size() && size > 0; ++row, out += size) {
    if (lists.is_valid(row)) { std::copy_n(bytes + lists.begin(row), size, out); }
  }
  return result;
}

rmm::device_buffer make_views(byte_strings const& strings, execution const& exec)
{
  auto result =
    host::allocate(std::int64_t{strings.size} * std::int64_t{sizeof(string_view_entry)}, exec);
  auto const offset_at = [&](std::int64_t row) {
    return strings.offset_width == 8 ? load<std::int64_t>(strings.offsets, row)
                                     : load<std::int32_t>(strings.offsets, row);
  };
  auto row = std::int64_t{0};
  for (auto& view : host::values_of<string_view_entry>(result)) {
    auto const valid =
      strings.mask == nullptr || bit_at(static_cast<std::uint8_t const*>(strings.mask), row);
    view = valid
             ? entry_of(static_cast<char const*>(strings.data), offset_at(row), offset_at(row + 1))
             : string_view_entry{};
    ++row;
  }
  return result;
}

}  // namespace cudf_arrow_bridge::detail
