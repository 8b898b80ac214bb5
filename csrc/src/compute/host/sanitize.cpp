// SPDX-License-Identifier: Apache-2.0
#include "compute/sanitize.hpp"

#include "base/child_column.hpp"
#include "compute/gather.hpp"
#include "compute/host/bits.hpp"
#include "compute/host/buffers.hpp"
#include "compute/host_access.hpp"

#include <bit>
#include <cstdint>
#include <utility>

namespace cudf_arrow_bridge::detail::host {
namespace {

/// Calls `use` for each word of rows that contain nulls, until it returns true. Its arguments are
/// the word's index and the word, in which the bits of null rows are set.
template <typename Use>
bool any_of_null_words(cudf::column_view const& column, Use use)
{
  auto const valid = bit_words{{column.null_mask(), 0, column.size()}};
  for (std::int64_t i = 0; i < valid.size(); ++i) {
    if (auto const nulls = valid.zeros(i); nulls != 0 && use(i, nulls)) { return true; }
  }
  return false;
}

template <typename Offset>
bool has_nonempty_nulls(cudf::column_view const& column, void const* offsets)
{
  return any_of_null_words(column, [&](std::int64_t word, std::uint64_t nulls) {
    for (; nulls != 0; nulls &= nulls - 1) {
      auto const row = word * word_bits + std::countr_zero(nulls);
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
  auto const size        = std::int64_t{child.size()};
  auto const parent_bits = bit_range{parent.null_mask(), 0, size};
  if (child.null_mask() == nullptr) {
    return counted_mask{host::copy_bits(parent_bits, exec), host::count_nulls(parent_bits)};
  }
  auto const child_bits = bit_range{child.null_mask(), 0, size};
  if (host::nulls_within(parent_bits, child_bits)) { return std::nullopt; }
  auto result           = host::valid_in_both(child_bits, parent_bits, exec);
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
