// SPDX-License-Identifier: Apache-2.0
#include "compute/sanitize.hpp"

#include "base/child_column.hpp"
#include "base/parsed_type.hpp"
#include "compute/gather.hpp"
#include "compute/host_access.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

using cudf::type_id;

bool has_null_lists_or_strings(cudf::column_view const& column)
{
  auto const type = column.type().id();
  return (type == type_id::LIST || type == type_id::STRING) && column.null_count() > 0;
}

/// Whether a column or a descendant may need sanitizing, by types and null counts alone.
bool may_be_dirty(cudf::column_view const& column)
{
  return has_null_lists_or_strings(column) ||
         std::any_of(column.child_begin(), column.child_end(), may_be_dirty);
}

}  // namespace

bool needs_emptying(cudf::column_view const& column, execution const& exec)
{
  if (!has_null_lists_or_strings(column)) { return false; }
  if (!exec.host) { return !has_null_column(column) && device::has_nonempty_nulls(column, exec); }
  auto const& offsets = child_of(column, 0);
  auto const width    = bits_of(offsets.type()) / 8;
  auto const begin_of = [&](std::int64_t row) {
    return host::read_integer(offsets.head<std::byte>() + row * width, width);
  };
  for (cudf::size_type row = 0; row < column.size(); ++row) {
    if (host::is_null_row(column, row) && begin_of(row) != begin_of(row + 1)) { return true; }
  }
  return false;
}

std::unique_ptr<cudf::column> empty_nulls(cudf::column_view const& column, execution const& exec)
{
  if (!exec.host) { return device::empty_nulls(column, exec); }
  auto const rows = count_up(column.size(), 1, exec);
  auto const map  = flat_view(type_id::INT32, column.size(), rows.data());
  return gather_rows(column, map, column_path{}, exec);
}

std::unique_ptr<cudf::column> sanitize(std::unique_ptr<cudf::column> column,
                                       copy_log const& copies,
                                       column_path const& path,
                                       execution const& exec)
{
  if (!may_be_dirty(column->view())) { return column; }
  auto const null_count = column->null_count();
  if (needs_emptying(column->view(), exec)) {
    copies.need(copy_reason::null_rows, path);
    // The copy is sanitized at all levels.
    auto result = empty_nulls(column->view(), exec);
    // The null count of the top level excludes rows before the first imported one.
    result->set_null_count(null_count);
    return result;
  }
  auto const type = column->type();
  auto const size = column->size();
  auto parts      = column->release();
  for (auto& child : parts.children) { child = sanitize(std::move(child), copies, path, exec); }
  return std::make_unique<cudf::column>(type,
                                        size,
                                        std::move(*parts.data),
                                        std::move(*parts.null_mask),
                                        null_count,
                                        std::move(parts.children));
}

}  // namespace cudf_arrow_bridge::detail
