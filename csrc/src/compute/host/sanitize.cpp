// SPDX-License-Identifier: Apache-2.0
#include "compute/sanitize.hpp"

#include "base/child_column.hpp"
#include "compute/gather.hpp"
#include "compute/host/buffers.hpp"
#include "compute/host_access.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace cudf_arrow_bridge::detail::host {
namespace {

constexpr std::int64_t word_bits = 64;

/// Up to 64 bits of a mask from bit `begin` on. Reads no byte beyond bit `size`.
std::uint64_t valid_bits(void const* mask, std::int64_t begin, std::int64_t size)
{
  auto word        = std::uint64_t{0};
  auto const bytes = std::min<std::int64_t>(bytes_for_bits(size - begin), sizeof word);
  std::memcpy(
    &word, static_cast<std::byte const*>(mask) + begin / 8, static_cast<std::size_t>(bytes));
  return word;
}

/// Calls `use` for each 64 rows that contain nulls, until it returns true. Its arguments are the
/// first row and a word in which the bits of null rows are set.
template <typename Use>
bool any_of_null_words(cudf::column_view const& column, Use use)
{
  auto const size = std::int64_t{column.size()};
  for (std::int64_t begin = 0; begin < size; begin += word_bits) {
    auto nulls      = ~valid_bits(column.null_mask(), begin, size);
    auto const rows = size - begin;
    if (rows < word_bits) { nulls &= (std::uint64_t{1} << rows) - 1; }
    if (nulls != 0 && use(begin, nulls)) { return true; }
  }
  return false;
}

template <typename Offset>
bool has_nonempty_nulls(cudf::column_view const& column, void const* offsets)
{
  return any_of_null_words(column, [&](std::int64_t begin, std::uint64_t nulls) {
    for (; nulls != 0; nulls &= nulls - 1) {
      auto const row = begin + std::countr_zero(nulls);
      if (load<Offset>(offsets, row) != load<Offset>(offsets, row + 1)) { return true; }
    }
    return false;
  });
}

}  // namespace

std::optional<counted_mask> push_nulls(cudf::column_view const& parent,
                                       cudf::column_view const& child,
                                       execution const& exec)
{
  auto const size = std::int64_t{child.size()};
  if (child.null_mask() == nullptr) {
    auto const range = bit_range{parent.null_mask(), 0, size};
    return counted_mask{host::copy_bits(range, exec), host::count_nulls(range)};
  }
  auto const is_dirty = any_of_null_words(parent, [&](std::int64_t begin, std::uint64_t nulls) {
    return (nulls & valid_bits(child.null_mask(), begin, size)) != 0;
  });
  if (!is_dirty) { return std::nullopt; }
  auto result = host::valid_in_both(child.null_mask(), parent.null_mask(), child.size(), exec);
  auto const null_count = host::count_nulls({result.data(), 0, size});
  return counted_mask{std::move(result), null_count};
}

bool has_nonempty_nulls(cudf::column_view const& column)
{
  if (column.num_children() == 0) { return false; }  // an empty string column
  auto const offsets = child_of(column, 0);
  return offsets.type().id() == cudf::type_id::INT64
           ? has_nonempty_nulls<std::int64_t>(column, offsets.head<void>())
           : has_nonempty_nulls<std::int32_t>(column, offsets.head<void>());
}

std::unique_ptr<cudf::column> empty_nulls(cudf::column_view const& column, execution const& exec)
{
  auto const rows = host::count_up(column.size(), 1, exec);
  auto const map  = cudf::column_view{
    cudf::data_type{cudf::type_id::INT32}, column.size(), rows.data(), nullptr, 0};
  return host::gather_rows(column, map, column_path{}, exec);
}

}  // namespace cudf_arrow_bridge::detail::host
