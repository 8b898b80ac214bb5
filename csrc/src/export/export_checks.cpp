// SPDX-License-Identifier: Apache-2.0
#include "export/export_checks.hpp"

#include "base/child_column.hpp"
#include "compute/cast.hpp"

#include <cudf/lists/lists_column_view.hpp>

#include <cuda/cmath>

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

/// The intersection of several masks.
struct joined_mask {
  std::optional<rmm::device_buffer> made;  ///< none if there is only one mask
  bit_range range;
};

joined_mask join(outer_mask const& masks, execution const& exec)
{
  auto result = joined_mask{std::nullopt, masks.mask};
  for (auto const* next = masks.outer; next != nullptr; next = next->outer) {
    result.made  = valid_in_both(result.range, next->mask, exec.scratch());
    result.range = {result.made->data(), 0, next->mask.size};
  }
  return result;
}

/// The rows of a LIST or fixed-width column with another mask, whose first bit is that of the first
/// row: offset 0 is moved there.
cudf::column_view with_mask(cudf::column_view const& column,
                            column_rows const& rows,
                            rmm::device_buffer const& mask,
                            cudf::size_type null_count)
{
  auto const type  = column.type();
  auto const size  = static_cast<cudf::size_type>(rows.size);
  auto const* bits = static_cast<cudf::bitmask_type const*>(mask.data());
  if (type.id() != cudf::type_id::LIST) {
    auto const width = static_cast<std::int64_t>(cudf::size_of(type));
    return {type, size, column.head<std::byte>() + rows.begin * width, bits, null_count};
  }
  auto const& all     = child_of(column, cudf::lists_column_view::offsets_column_index);
  auto const* first   = all.begin<std::int32_t>() + rows.begin;
  auto const offsets  = cudf::column_view{all.type(), size + 1, first, nullptr, 0};
  auto const& element = child_of(column, cudf::lists_column_view::child_column_index);
  return {type, size, nullptr, bits, null_count, 0, {offsets, element}};
}

}  // namespace

checked_rows rows_to_check(cudf::column_view const& column,
                           column_rows const& rows,
                           execution const& exec)
{
  auto const used = used_rows(rows);
  if (used.outer == nullptr || used.size == 0) {
    return {std::nullopt, view_of(column, used, exec)};
  }
  auto const no_nulls = column.null_mask() == nullptr || used.null_count == 0;
  auto const own      = outer_mask{mask_of(column, used), used.outer};
  auto joined         = join(no_nulls ? *used.outer : own, exec);
  if (!joined.made) { joined.made = copy_bits(joined.range, exec.scratch()); }
  auto const null_count = count_nulls({joined.made->data(), 0, used.size}, exec);
  auto const view       = with_mask(column, used, *joined.made, null_count);
  return {std::move(joined.made), view};
}

void check_values(cudf::column_view const& column,
                  export_step const& step,
                  column_path const& path,
                  execution const& exec)
{
  switch (step.check) {
    case value_check::none: return;
    case value_check::whole_days:
      if (!has_whole_days(column, exec)) {
        fail_invalid(path,
                     "the requested schema has whole days, and the column has times within a day");
      }
      return;
    case value_check::time_of_day: {
      auto const range = range_of(column, exec);
      if (range.any && range.least < 0) {
        fail_invalid(
          path, "the requested schema has times of day, and the column has negative durations");
      }
      if (range.any && range.greatest >= ticks_a_day(column.type().id())) {
        fail_invalid(
          path,
          "the requested schema has times of day, and the column has durations of a day or more");
      }
      return;
    }
    case value_check::digits: {
      auto const limit = cuda::ipow(__int128_t{10}, step.digits);
      auto const range = range_of(column, exec);
      if (range.any && (range.least <= -limit || range.greatest >= limit)) {
        fail_invalid(path,
                     "the column has decimals of more than " + std::to_string(step.digits) +
                       " digits, the precision of the requested schema");
      }
      return;
    }
  }
}

cudf::column_view const& checked_offsets(cudf::column_view const* offsets,
                                         std::int64_t end,
                                         column_path const& path)
{
  if (offsets != nullptr && offsets->size() > end) { return *offsets; }
  fail_invalid(path,
               "expected " + std::to_string(end + 1) + " offsets, got " +
                 std::to_string(offsets == nullptr ? 0 : offsets->size()));
}

bool has_own_nulls(cudf::column_view const& column, column_rows const& rows, execution const& exec)
{
  auto const used      = used_rows(rows);
  auto const is_always = column.type().id() == cudf::type_id::EMPTY;
  if (used.size == 0) { return false; }
  if (!is_always && (column.null_mask() == nullptr || used.null_count == 0)) { return false; }
  auto const mask = mask_of(column, used);
  if (rows.outer != nullptr) {
    auto const outer = join(*rows.outer, exec);
    if (is_always) { return count_nulls(outer.range, exec) < used.size; }
    auto const both   = valid_in_both(mask, outer.range, exec.scratch());
    auto const ranges = std::array{bit_range{both.data(), 0, used.size}, outer.range};
    auto const nulls  = count_nulls(ranges, exec);
    return nulls.front() != nulls.back();
  }
  return is_always || used.null_count > 0 || count_nulls(mask, exec) > 0;
}

void check_input(export_input const& input)
{
  if (!input.is_table && input.columns.size() != 1) {
    throw std::invalid_argument{"expected one column unless it is a table, got " +
                                std::to_string(input.columns.size())};
  }
  if (input.num_rows < 0) {
    throw std::invalid_argument{"the number of rows is negative: " +
                                std::to_string(input.num_rows)};
  }
  for (std::size_t i = 0; i < input.columns.size(); ++i) {
    if (input.columns[i].size() == input.num_rows) { continue; }
    fail_invalid(column_path{column_path{}, i},
                 "expected " + std::to_string(input.num_rows) + " rows, got " +
                   std::to_string(input.columns[i].size()));
  }
}

}  // namespace cudf_arrow_bridge::detail
