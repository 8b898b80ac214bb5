// SPDX-License-Identifier: Apache-2.0
#include "compute/sanitize.hpp"

#include "base/child_column.hpp"
#include "compute/bits.hpp"
#include "compute/gather.hpp"
#include "compute/host_access.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

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
         (column.type().id() == type_id::STRUCT && column.null_count() > 0) ||
         std::any_of(column.child_begin(), column.child_end(), may_be_dirty);
}

/// Whether a null row of a string or list column in host memory is not empty.
template <typename Offset>
bool has_nonempty_nulls(cudf::column_view const& column, void const* offsets)
{
  auto const valid = host::bit_words{{column.null_mask(), 0, column.size()}};
  for (std::int64_t word = 0; word < valid.size(); ++word) {
    for (auto nulls = valid.zeros(word); nulls != 0; nulls &= nulls - 1) {
      auto const row = word * host::word_bits + std::countr_zero(nulls);
      if (host::load<Offset>(offsets, row) != host::load<Offset>(offsets, row + 1)) { return true; }
    }
  }
  return false;
}

/// The contents of a column, to rebuild it with some of them replaced.
struct released_column {
  explicit released_column(std::unique_ptr<cudf::column> column)
    : type{column->type()},
      size{column->size()},
      null_count{column->null_count()},
      parts{column->release()}
  {
  }

  std::unique_ptr<cudf::column> rebuild()
  {
    return std::make_unique<cudf::column>(type,
                                          size,
                                          std::move(*parts.data),
                                          std::move(*parts.null_mask),
                                          null_count,
                                          std::move(parts.children));
  }

  cudf::data_type type;
  cudf::size_type size;
  cudf::size_type null_count;
  cudf::column::contents parts;
};

std::unique_ptr<cudf::column> with_mask(std::unique_ptr<cudf::column> column, counted_mask&& mask)
{
  auto released             = released_column{std::move(column)};
  *released.parts.null_mask = std::move(mask.mask);
  released.null_count       = mask.null_count;
  return released.rebuild();
}

/// Checks whether copies of one column are allowed.
struct copy_permit {
  copy_log const& copies;
  column_path const& path;

  void need(copy_reason reason) const { copies.need(reason, path); }
};

std::unique_ptr<cudf::column> push_struct_nulls(std::unique_ptr<cudf::column> column,
                                                copy_permit const& permit,
                                                execution const& exec)
{
  if (column->num_children() == 0) { return column; }
  auto const is_parent = column->type().id() == type_id::STRUCT && column->null_count() > 0;
  auto masks           = std::vector<std::optional<counted_mask>>{};
  if (is_parent) {
    auto const parent = column->view();
    std::transform(
      parent.child_begin(), parent.child_end(), std::back_inserter(masks), [&](auto const& child) {
        return push_nulls(parent, child, exec);
      });
  }
  auto released  = released_column{std::move(column)};
  auto& children = released.parts.children;
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (is_parent) {
      if (auto& mask = masks[i]; mask.has_value()) {
        permit.need(copy_reason::nulls_of_structs);
        children[i] = with_mask(std::move(children[i]), std::move(*mask));
      }
    }
    children[i] = push_struct_nulls(std::move(children[i]), permit, exec);
  }
  return released.rebuild();
}

std::unique_ptr<cudf::column> empty_null_rows(std::unique_ptr<cudf::column> column,
                                              copy_permit const& permit,
                                              execution const& exec)
{
  if (!may_be_dirty(column->view())) { return column; }
  if (needs_emptying(column->view(), exec)) {
    permit.need(copy_reason::null_rows);
    // The copy is sanitized at all levels.
    auto result = empty_nulls(column->view(), exec);
    // The null count of the top level excludes rows before the first imported one.
    result->set_null_count(column->null_count());
    return result;
  }
  auto released = released_column{std::move(column)};
  for (auto& child : released.parts.children) {
    child = empty_null_rows(std::move(child), permit, exec);
  }
  return released.rebuild();
}

}  // namespace

bool needs_emptying(cudf::column_view const& column, execution const& exec)
{
  if (!has_null_lists_or_strings(column)) { return false; }
  if (!exec.host) { return !has_null_column(column) && device::has_nonempty_nulls(column, exec); }
  if (column.num_children() == 0) { return false; }  // an empty string column
  auto const& offsets = child_of(column, 0);
  return offsets.type().id() == type_id::INT64
           ? has_nonempty_nulls<std::int64_t>(column, offsets.head<void>())
           : has_nonempty_nulls<std::int32_t>(column, offsets.head<void>());
}

std::unique_ptr<cudf::column> empty_nulls(cudf::column_view const& column, execution const& exec)
{
  if (!exec.host) { return device::empty_nulls(column, exec); }
  auto const rows = count_up(column.size(), 1, exec);
  auto const map =
    cudf::column_view{cudf::data_type{type_id::INT32}, column.size(), rows.data(), nullptr, 0};
  return gather_rows(column, map, column_path{}, exec);
}

std::optional<counted_mask> push_nulls(cudf::column_view const& parent,
                                       cudf::column_view const& child,
                                       execution const& exec)
{
  if (child.type().id() == type_id::EMPTY) { return std::nullopt; }
  if (!exec.host) { return device::push_nulls(parent, child, exec); }
  auto const size        = std::int64_t{child.size()};
  auto const parent_bits = bit_range{parent.null_mask(), 0, size};
  if (child.null_mask() == nullptr) {
    return counted_mask{copy_bits(parent_bits, exec), count_nulls(parent_bits, exec)};
  }
  auto const child_bits = bit_range{child.null_mask(), 0, size};
  if (nulls_within(parent_bits, child_bits, exec)) { return std::nullopt; }
  auto result           = valid_in_both(child_bits, parent_bits, exec);
  auto const null_count = count_nulls({result.data(), 0, size}, exec);
  return counted_mask{std::move(result), null_count};
}

std::unique_ptr<cudf::column> sanitize(std::unique_ptr<cudf::column> column,
                                       copy_log const& copies,
                                       column_path const& path,
                                       execution const& exec)
{
  if (!may_be_dirty(column->view())) { return column; }
  auto const permit = copy_permit{copies, path};
  return empty_null_rows(push_struct_nulls(std::move(column), permit, exec), permit, exec);
}

}  // namespace cudf_arrow_bridge::detail
