// SPDX-License-Identifier: Apache-2.0
#include "array_builder.hpp"

#include "child_column.hpp"
#include "convert_dictionary.hpp"
#include "export_checks.hpp"
#include "negotiate.hpp"
#include "recast.hpp"

#include <cudf/dictionary/dictionary_column_view.hpp>
#include <cudf/lists/lists_column_view.hpp>
#include <cudf/strings/strings_column_view.hpp>
#include <cudf/utilities/traits.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

column_rows own_rows(cudf::column_view const& column)
{
  auto const begin = std::int64_t{column.offset()};
  auto const size  = std::int64_t{column.size()};
  return {begin, size, column.null_count(), begin, size};
}

/// Rows that a parent imposes on a child. Counting the nulls of a part would mean reading the mask.
column_rows parent_rows(cudf::column_view const& child,
                        std::int64_t begin,
                        std::int64_t size,
                        column_rows const& parent)
{
  auto const whole = begin == 0 && size == child.size();
  auto const known = child.null_count() == 0 || whole;
  return {begin, size, known ? child.null_count() : -1, parent.used_begin, parent.used_size};
}

cudf::size_type to_size_type(std::int64_t size) { return static_cast<cudf::size_type>(size); }

void const* row(cudf::column_view const& column, std::int64_t index)
{
  auto const* head = column.head<std::byte>();
  return head == nullptr ? nullptr
                         : head + index * static_cast<std::int64_t>(cudf::size_of(column.type()));
}

bit_range mask_of(cudf::column_view const& column, column_rows const& rows)
{ return {column.null_mask(), rows.begin, rows.size}; }

/// The part of the rows that is used, as rows of its own.
column_rows used_rows(column_rows const& rows)
{
  auto const all = rows.used_begin == rows.begin && rows.used_size == rows.size;
  return {rows.used_begin,
          rows.used_size,
          all || rows.null_count == 0 ? rows.null_count : -1,
          rows.used_begin,
          rows.used_size};
}

/// The same rows in a column that was made of them.
column_rows moved(column_rows const& rows, column_rows const& made)
{
  return {made.begin,
          made.size,
          made.null_count,
          rows.used_begin - rows.begin + made.begin,
          rows.used_size};
}

}  // namespace

cudf::column_view view_of(cudf::column_view const& column,
                          column_rows const& rows,
                          placement const& where)
{
  auto const unknown = rows.null_count < 0 && column.null_mask() != nullptr && rows.size > 0;
  auto const null_count =
    unknown ? count_nulls(mask_of(column, rows), where)
            : static_cast<cudf::size_type>(std::max<std::int64_t>(rows.null_count, 0));
  return {column.type(),
          to_size_type(rows.size),
          column.head<void>(),
          column.null_mask(),
          null_count,
          to_size_type(rows.begin),
          {column.child_begin(), column.child_end()}};
}

void array_builder::add_column(cudf::column_view const& column)
{ fill(tree_.add_nodes(1), column, own_rows(column), schema_.nodes.front(), column_path{}); }

void array_builder::add_table(std::span<cudf::column_view const> columns, std::int64_t num_rows)
{
  auto const& as = schema_.nodes.front();
  if (as.num_children != columns.size()) {
    throw std::invalid_argument{"a schema of " + std::to_string(as.num_children) +
                                " fields found, " + std::to_string(columns.size()) + " expected"};
  }
  auto const root  = tree_.add_nodes(1);
  auto const first = tree_.add_nodes(columns.size());
  auto const top   = column_path{};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    auto const& field = child_of(as, i);
    fill(first + i, columns[i], own_rows(columns[i]), field, {top, field.name.c_str()});
  }
  auto& node        = tree_.nodes[root];
  node.layout       = array_layout::validity;
  node.length       = num_rows;
  node.first_child  = first;
  node.num_children = columns.size();
}

void array_builder::fill(std::size_t index,
                         cudf::column_view const& column,
                         column_rows const& rows,
                         schema_node const& as,
                         column_path const& path,
                         std::optional<bit_range> const& parent_mask)
{
  auto const& step = as.step;
  if (column.type() != step.column) {
    fail_invalid(path, "a column of another type found than the schema was made for");
  }
  auto made = std::unique_ptr<cudf::column>{};
  if (step.decode) { made = decode_dictionary(view_of(column, rows, where_), path, where_); }
  if (step.check != value_check::none) {
    auto const decoded = made ? made->view() : column;
    auto const checked = made ? moved(rows, own_rows(decoded)) : rows;
    check_values(view_of(decoded, used_rows(checked), where_), step, path, where_);
  }
  if (step.cast.id() == cudf::type_id::DICTIONARY32) {
    made = encode_dictionary(made ? made->view() : view_of(column, rows, where_), where_);
  } else if (step.cast.id() != cudf::type_id::EMPTY) {
    made = cast_column(made ? made->view() : view_of(column, rows, where_), step.cast, where_);
  }
  auto const outer  = std::exchange(in_converted_, in_converted_ || made != nullptr);
  auto const source = made ? made->view() : column;
  auto source_rows  = made ? moved(rows, own_rows(source)) : rows;
  if (made) { tree_.columns.push_back(std::move(made)); }
  if (step.no_nulls) {
    if (source.type().id() == cudf::type_id::EMPTY && rows.size > 0) {
      fail_invalid(path, "nulls found, none expected by the requested schema");
    }
    auto const used = used_rows(source_rows);
    check_no_nulls(mask_of(source, used), used.null_count, parent_mask, path, where_);
    source_rows.null_count = 0;
  }
  fill_rows(index, source, source_rows, as, path);
  in_converted_ = outer;
}

void array_builder::fill_rows(std::size_t index,
                              cudf::column_view const& column,
                              column_rows const& rows,
                              schema_node const& as,
                              column_path const& path)
{
  auto node   = new_node();  // complete before it is stored: filling children moves the nodes
  node.layout = as.step.layout;
  if (node.layout == array_layout::null) {
    node.length = node.null_count = rows.size;
    tree_.nodes[index]            = node;
    return;
  }
  // What stands before a slice need not be lists of the size that those of the slice have.
  auto const fixed_lists =
    node.layout == array_layout::fixed && column.type().id() == cudf::type_id::LIST;
  auto const begin = fill_validity(node, column, rows, options_.compact || fixed_lists);
  switch (node.layout) {
    case array_layout::offsets32:
    case array_layout::offsets64: fill_list(node, column, rows, begin, as, path); break;
    case array_layout::string32:
    case array_layout::string64: fill_string(node, column, rows, begin, path); break;
    case array_layout::views: fill_views(node, column, rows, begin, path); break;
    case array_layout::validity: fill_struct(node, column, rows, begin, as, path); break;
    default:
      if (fixed_lists) {
        fill_fixed_size(node, column, rows, as.step, path);
      } else {
        fill_values(node, column, begin, as, path);
      }
  }
  tree_.nodes[index] = node;
}

array_node array_builder::new_node() const
{
  auto node = array_node{};
  node.converted.fill(in_converted_);
  return node;
}

void const* array_builder::keep(rmm::device_buffer&& buffer)
{ return tree_.conversions.emplace_back(std::move(buffer)).data(); }

void array_builder::set_made(array_node& node, std::size_t slot, rmm::device_buffer&& buffer)
{
  node.buffers[slot]   = keep(std::move(buffer));
  node.converted[slot] = true;
}

/// Sets length, offset, nulls and mask. @return The row at which the other buffers begin
std::int64_t array_builder::fill_validity(array_node& node,
                                          cudf::column_view const& column,
                                          column_rows const& rows,
                                          bool compact)
{
  node.length      = rows.size;
  auto const* mask = reinterpret_cast<std::byte const*>(column.null_mask());
  if (mask == nullptr || rows.null_count == 0 || rows.size == 0) { return rows.begin; }

  node.null_count   = rows.null_count;
  auto const within = rows.begin % 8;
  if (within != 0 && compact) {
    set_made(node, 0, copy_bits({mask, rows.begin, rows.size}, where_));
    return rows.begin;
  }
  node.buffers[0] = mask + rows.begin / 8;
  node.offset     = within;
  return rows.begin - within;
}

void array_builder::fill_fixed(array_node& node,
                               cudf::column_view const& column,
                               std::int64_t begin)
{
  node.buffers[1]   = row(column, begin);
  node.element_bits = static_cast<std::int64_t>(cudf::size_of(column.type())) * 8;
}

void array_builder::fill_converted(array_node& node,
                                   std::int64_t element_bits,
                                   rmm::device_buffer&& data)
{
  set_made(node, 1, std::move(data));
  node.element_bits = element_bits;
}

void array_builder::fill_values(array_node& node,
                                cudf::column_view const& column,
                                std::int64_t begin,
                                schema_node const& as,
                                column_path const& path)
{
  using cudf::type_id;
  auto const size = to_size_type(node.offset + node.length);
  auto const bits = as.step.element_bits;
  switch (column.type().id()) {
    case type_id::DICTIONARY32: fill_dictionary(node, column, begin, as, path); return;
    case type_id::BOOL8:
      fill_converted(node, bits, pack_bools(row(column, begin), size, where_));
      return;
    case type_id::DURATION_DAYS:
      fill_converted(
        node,
        bits,
        cast_values(
          row(column, begin), size, type_id::DURATION_DAYS, type_id::DURATION_SECONDS, where_));
      return;
    default: break;
  }
  if (cudf::is_duration(column.type()) && bits == 32) {
    // A time of day, which fits.
    fill_converted(
      node, bits, cast_values(row(column, begin), size, type_id::INT64, type_id::INT32, where_));
    return;
  }
  fill_fixed(node, column, begin);
}

void array_builder::fill_list(array_node& node,
                              cudf::column_view const& column,
                              column_rows const& rows,
                              std::int64_t begin,
                              schema_node const& as,
                              column_path const& path)
{
  auto const offsets = child_column(column, cudf::lists_column_view::offsets_column_index, path);
  auto const element = child_column(column, cudf::lists_column_view::child_column_index, path);
  fill_offsets(node, offsets, begin, path);
  node.num_children = 1;
  node.first_child  = tree_.add_nodes(1);
  auto elements     = own_rows(element);
  if (as.step.checks_below && rows.used_size > 0) {
    // What stands outside a slice is nobody's business.
    auto const* first   = offsets.begin<std::int32_t>() + rows.used_begin;
    auto const ends     = read_ends(first, rows.used_size, sizeof(*first), where_);
    elements.used_begin = element.offset() + ends.first;
    elements.used_size  = ends.last - ends.first;
  } else if (rows.used_size == 0) {
    elements.used_size = 0;
  }
  fill(node.first_child, element, elements, child_of(as, 0), column_path{path, "[]"});
}

void array_builder::fill_struct(array_node& node,
                                cudf::column_view const& column,
                                column_rows const& rows,
                                std::int64_t begin,
                                schema_node const& as,
                                column_path const& path)
{
  auto const size   = node.offset + node.length;
  node.num_children = static_cast<std::size_t>(column.num_children());
  node.first_child  = tree_.add_nodes(node.num_children);
  auto const mask   = column.null_mask() == nullptr || rows.null_count == 0
                        ? std::optional<bit_range>{}
                        : std::optional<bit_range>{mask_of(column, used_rows(rows))};
  for (cudf::size_type i = 0; i < column.num_children(); ++i) {
    auto const at         = static_cast<std::size_t>(i);
    auto const child      = child_column(column, i);
    auto const& field     = child_of(as, at);
    auto const child_path = column_path{path, field.name.c_str()};
    if (child.size() < begin + size) {
      fail_invalid(child_path,
                   std::to_string(child.size()) + " rows found, at least " +
                     std::to_string(begin + size) + " expected by the struct");
    }
    fill(
      node.first_child + at, child, parent_rows(child, begin, size, rows), field, child_path, mask);
  }
}

void array_builder::fill_dictionary(array_node& node,
                                    cudf::column_view const& column,
                                    std::int64_t begin,
                                    schema_node const& as,
                                    column_path const& path)
{
  auto const size = node.offset + node.length;
  auto const indices =
    child_column(column, cudf::dictionary_column_view::indices_column_index, path);
  if (indices.size() < begin + size) {
    fail_invalid(path,
                 std::to_string(indices.size()) + " dictionary indices found, at least " +
                   std::to_string(begin + size) + " expected");
  }
  auto const keys = child_column(column, cudf::dictionary_column_view::keys_column_index, path);
  fill_indices(node, indices, begin, keys.size(), as.step, path);
  node.dictionary = tree_.add_nodes(1);
  fill(node.dictionary, keys, own_rows(keys), schema_.nodes[as.dictionary], path);
}

/// The indices in the type that the schema says, whose bits do where it is as wide.
void array_builder::fill_indices(array_node& node,
                                 cudf::column_view const& indices,
                                 std::int64_t begin,
                                 std::int64_t num_keys,
                                 export_step const& step,
                                 column_path const& path)
{
  fill_fixed(node, indices, begin);
  if (indices.type().id() == step.index) { return; }
  if (num_keys > most_keys(step.index)) {
    fail<std::overflow_error>(path,
                              std::to_string(num_keys) + " dictionary values found, at most " +
                                std::to_string(most_keys(step.index)) +
                                " expected by the requested index type: ask for a wider one");
  }
  if (step.element_bits == node.element_bits) { return; }
  auto const size = to_size_type(node.offset + node.length);
  fill_converted(node,
                 step.element_bits,
                 cast_values(row(indices, begin), size, indices.type().id(), step.index, where_));
}

}  // namespace cudf_arrow_bridge::detail
