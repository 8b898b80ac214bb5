// SPDX-License-Identifier: Apache-2.0
#include "export/array_builder.hpp"

#include "base/child_column.hpp"
#include "base/parsed_type.hpp"
#include "compute/cast.hpp"
#include "compute/dictionary.hpp"
#include "export/export_checks.hpp"
#include "schema/negotiate.hpp"

#include <cudf/dictionary/dictionary_column_view.hpp>
#include <cudf/lists/lists_column_view.hpp>

#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

using cudf::type_id;

/// `rows` in `converted`, a column of only these rows, so that they begin at row 0.
column_rows rows_of_converted(column_rows const& rows, cudf::column_view const& made)
{
  return {
    0, made.size(), made.null_count(), rows.used_begin - rows.begin, rows.used_size, rows.outer};
}

/// @return The type that values are cast to for Arrow; `EMPTY` if Arrow has the same values
///
/// @param column libcudf's type
/// @param bits Width of a value in Arrow
type_id stored_as(type_id column, std::int64_t bits)
{
  switch (column) {
    case type_id::DURATION_DAYS: return type_id::DURATION_SECONDS;
    case type_id::DURATION_SECONDS:
    case type_id::DURATION_MILLISECONDS:
    case type_id::DURATION_MICROSECONDS:
    case type_id::DURATION_NANOSECONDS:
      return bits == 32 ? type_id::INT32 : type_id::EMPTY;  // time32: less than a day, so it fits
    default: return type_id::EMPTY;
  }
}

}  // namespace

std::int64_t array_builder::fill_validity(array_node& node, export_level const& level, bool compact)
{
  auto const& [column, rows, step, target, path] = level;

  node.offset      = compact ? 0 : rows_before(column, rows);
  auto const begin = rows.begin - node.offset;
  auto const* mask = reinterpret_cast<std::byte const*>(column.null_mask());
  if (mask == nullptr || rows.null_count == 0 || rows.size == 0) {
    node.copied[0] = {};
    return begin;
  }
  node.null_count = rows.null_count;
  if (compact && !is_on_mask_block(begin)) {
    copies_.need(copy_reason::mask_position, path);
    node.buffers[0] = keep(copy_bits({mask, begin, rows.size}, exec_));
    node.copied[0]  = copy_reason::mask_position;
  } else {
    node.buffers[0] = mask + begin / 8;
  }
  return begin;
}

void array_builder::add(export_input const& input)
{
  auto const& columns = input.columns;
  auto const* target  = schema_ == nullptr ? nullptr : &schema_->nodes.front();
  auto const top      = column_path{};
  auto first          = tree_.add_nodes(1);
  if (input.is_table) {
    if (target != nullptr && std::string_view{target->schema->format} != "+s") {
      throw std::invalid_argument{"the schema has the format '" +
                                  std::string{target->schema->format} + "', not that of a table"};
    }
    if (target != nullptr && target->num_children != columns.size()) {
      throw std::invalid_argument{"expected a schema of " + std::to_string(columns.size()) +
                                  " fields, got " + std::to_string(target->num_children)};
    }
    auto& root        = tree_.nodes[first];
    root.layout       = array_layout::validity;
    root.length       = input.num_rows;
    root.num_children = columns.size();
    root.first_child  = tree_.add_nodes(columns.size());
    first             = root.first_child;
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    auto const* level = input.is_table ? level_below(target, i) : target;
    auto const path   = input.is_table || target != nullptr ? path_of(top, level, i) : top;
    copies_.collect([&] { fill(first + i, columns[i], own_rows(columns[i]), level, path); });
  }
  copies_.check();
  for (std::size_t i = 0; i < tree_.nodes.size(); ++i) {
    auto& node = tree_.nodes[i];
    if (node.null_count >= 0) { continue; }
    node.null_count = known_.find({node.first_buffer()[0], node.offset, node.length});
  }
  tree_.count_unknown_nulls(exec_);
}

void array_builder::fill(std::size_t index,
                         cudf::column_view const& column,
                         column_rows const& rows,
                         schema_node const* target,
                         column_path const& path)
{
  auto const step = target == nullptr ? plain_step(column, path) : target->step;
  if (column.type() != step.column) {
    fail_invalid(path, "the column's type is not the one of the schema");
  }
  auto made       = std::unique_ptr<cudf::column>{};
  auto reason     = in_copy_;
  auto const need = [&](std::string_view why) {
    reason = why;
    if (rows.size > 0) { copies_.need(why, path); }
  };
  if (step.decode) {
    need(copy_reason::decoded);
    auto const is_last = step.cast.id() == cudf::type_id::EMPTY;
    made = decode_dictionary(view_of(column, rows, exec_), path, is_last ? exec_ : exec_.scratch());
    if (made->type() != step.values) {
      fail_invalid(path, "the dictionary's type is not the one of the schema");
    }
  }
  if (step.check != value_check::none) {
    auto const decoded = made ? made->view() : column;
    auto const checked = made ? rows_of_converted(rows, decoded) : rows;
    check_values(rows_to_check(decoded, checked, exec_).view, step, path, exec_);
  }
  if (step.cast.id() == cudf::type_id::DICTIONARY32) {
    need(copy_reason::encoded);
    made = encode_dictionary(made ? made->view() : view_of(column, rows, exec_), exec_);
  } else if (step.cast.id() != cudf::type_id::EMPTY) {
    need(copy_reason::cast);
    made = cast_column(made ? made->view() : view_of(column, rows, exec_), step.cast, exec_);
  }
  auto const outer   = std::exchange(in_copy_, reason);
  auto const view    = made ? made->view() : cudf::column_view{};
  auto const& source = made ? view : column;
  auto source_rows   = made ? rows_of_converted(rows, source) : rows;
  if (made) { tree_.columns.push_back(std::move(made)); }
  if (step.forbids_nulls()) {
    if (has_own_nulls(source, source_rows, exec_)) {
      fail_invalid(path,
                   step.nulls == null_rule::forbidden_by_map
                     ? "entries or keys of a map are null"
                     : "the requested field is not nullable, and the column has nulls");
    }
    source_rows.null_count = 0;
  }
  fill_rows(index, {source, source_rows, step, target, path});
  in_copy_ = outer;
}

void array_builder::fill_rows(std::size_t index, export_level const& level)
{
  auto const& [column, rows, step, target, path] = level;

  auto& node = tree_.nodes[index] = {};
  node.layout                     = step.layout;
  node.length                     = rows.size;
  node.copied.fill(in_copy_);
  if (node.layout == array_layout::null) {
    node.null_count = rows.size;
    return;
  }
  // Lists of a fixed size get a mask without an offset, because the rows before a slice, which an
  // offset would include, may have another length.
  auto const fixed_lists =
    node.layout == array_layout::fixed_lists ||
    (node.layout == array_layout::fixed && column.type().id() == cudf::type_id::LIST);
  auto const begin = fill_validity(node, level, options_.compact || fixed_lists);
  switch (node.layout) {
    case array_layout::offsets32:
    case array_layout::offsets64: fill_list(node, level, begin); break;
    case array_layout::string32:
    case array_layout::string64: fill_string(node, level, begin); break;
    case array_layout::views: fill_views(node, level, begin); break;
    case array_layout::validity: fill_struct(node, level, begin); break;
    default:
      if (fixed_lists) {
        fill_fixed_lists(node, level);
      } else {
        fill_values(node, level, begin);
      }
  }
}

void const* array_builder::keep(rmm::device_buffer&& buffer)
{ return tree_.conversions.emplace_back(std::move(buffer)).data(); }

void array_builder::set_copied(array_node& node,
                               std::string_view reason,
                               rmm::device_buffer&& buffer)
{
  node.buffers[1] = keep(std::move(buffer));
  node.copied[1]  = reason;
}

void array_builder::fill_list(array_node& node, export_level const& level, std::int64_t begin)
{
  auto const& [column, rows, step, target, path] = level;

  auto const& offsets = child_of(column, cudf::lists_column_view::offsets_column_index, path);
  auto const& element = child_of(column, cudf::lists_column_view::child_column_index, path);
  fill_offsets(node, &offsets, begin, path);
  if (rows.begin == 0 && rows.size + 1 == offsets.size()) { node.set_extent(element.size()); }
  node.num_children = 1;
  node.first_child  = tree_.add_nodes(1);
  auto elements     = own_rows(element);
  if (step.checks_below && rows.used_size > 0) {
    // Only elements of used rows are checked, not those of rows outside a slice.
    auto const* first   = offsets.begin<std::int32_t>() + rows.used_begin;
    auto const ends     = read_ends(first, rows.used_size, sizeof(*first), exec_);
    elements.used_begin = element.offset() + ends.first;
    elements.used_size  = ends.last - ends.first;
  } else if (rows.used_size == 0) {
    elements.used_size = 0;
  }
  fill(node.first_child, element, elements, level_below(target, 0), column_path{path, "[]"});
}

void array_builder::fill_struct(array_node& node, export_level const& level, std::int64_t begin)
{
  auto const& [column, rows, step, target, path] = level;

  auto const size     = node.offset + node.length;
  auto const children = std::span{column.child_begin(), column.child_end()};
  if (target != nullptr && target->num_children != children.size()) {
    fail_invalid(path,
                 "expected " + std::to_string(target->num_children) +
                   " fields by the schema, got " + std::to_string(children.size()));
  }
  node.num_children = children.size();
  node.first_child  = tree_.add_nodes(children.size());
  // If nulls are forbidden, the nulls of this struct lie within those of the enclosing structs, and
  // `rows.null_count` is 0.
  auto const no_nulls = column.null_mask() == nullptr || rows.null_count == 0;
  auto const own      = outer_mask{mask_of(column, used_rows(rows)), rows.outer};
  auto const* outer   = no_nulls ? rows.outer : &own;
  for (std::size_t i = 0; i < children.size(); ++i) {
    auto const& child = children[i];
    auto const* field = level_below(target, i);
    if (child.size() < begin + size) {
      fail_invalid(path_of(path, field, i),
                   "expected at least " + std::to_string(begin + size) +
                     " rows, as many as the struct has, got " + std::to_string(child.size()));
    }
    auto const child_rows = field_rows(child, begin, size, rows, outer);
    fill(node.first_child + i, child, child_rows, field, path_of(path, field, i));
  }
}

void array_builder::fill_values(array_node& node, export_level const& level, std::int64_t begin)
{
  auto const& column = level.column;
  auto const id      = column.type().id();
  if (id == type_id::DICTIONARY32) {
    fill_dictionary(node, level, begin);
    return;
  }
  node.per_row    = level.step.element_bits;
  auto const size = static_cast<cudf::size_type>(node.offset + node.length);

  if (id == type_id::BOOL8 && node.per_row == 1) {
    set_converted(node, copy_reason::bools, level.path, [&] {
      return pack_bools(row_of(column, begin, 8), size, exec_);
    });
  } else if (auto const stored = stored_as(id, node.per_row); stored != type_id::EMPTY) {
    auto const* values = row_of(column, begin, bits_of(column.type()));
    auto const from    = id == type_id::DURATION_DAYS ? id : type_id::INT64;
    auto const reason  = id == type_id::DURATION_DAYS ? copy_reason::days : copy_reason::times;
    set_converted(
      node, reason, level.path, [&] { return cast_values(values, size, from, stored, exec_); });
  } else {
    node.buffers[1] = row_of(column, begin, node.per_row);
  }
}

/// The indices are shared if only their signedness differs from the schema's index type: they are
/// not negative and less than the number of keys, so their bits are the same.
void array_builder::fill_dictionary(array_node& node, export_level const& level, std::int64_t begin)
{
  auto const& [column, rows, step, target, path] = level;

  constexpr auto keys_index = cudf::dictionary_column_view::keys_column_index;
  auto const size           = node.offset + node.length;
  auto const& indices       = indices_of(column, begin + size, path);
  auto const& keys          = child_of(column, keys_index, path);
  auto const bits           = bits_of(indices.type());
  auto const* first         = row_of(indices, begin, bits);
  node.per_row              = step.element_bits;
  if (indices.type().id() != step.index && keys.size() > max_keys(step.index)) {
    fail_too_many(path,
                  keys.size(),
                  max_keys(step.index),
                  "dictionary values by the requested index type",
                  "request a wider type");
  }
  if (bits == step.element_bits) {
    node.buffers[1] = first;
  } else {
    set_converted(node, copy_reason::index_width, path, [&] {
      return cast_values(
        first, static_cast<cudf::size_type>(size), indices.type().id(), step.index, exec_);
    });
  }
  node.dictionary    = tree_.add_nodes(1);
  auto const* values = target == nullptr ? nullptr : &schema_->nodes[target->dictionary];
  fill(node.dictionary, keys, own_rows(keys), values, path);
}

}  // namespace cudf_arrow_bridge::detail
