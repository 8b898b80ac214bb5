// SPDX-License-Identifier: Apache-2.0
#include "base/child_column.hpp"
#include "base/parsed_type.hpp"
#include "export/array_builder.hpp"
#include "schema/negotiate.hpp"

#include <cudf/dictionary/dictionary_column_view.hpp>
#include <cudf/utilities/type_dispatcher.hpp>

#include <string>

namespace cudf_arrow_bridge::detail {
namespace {

using cudf::type_id;

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

void array_builder::fill_dictionary(array_node& node, export_level const& level, std::int64_t begin)
{
  auto const& [column, rows, step, target, path] = level;

  constexpr auto indices_index = cudf::dictionary_column_view::indices_column_index;
  constexpr auto keys_index    = cudf::dictionary_column_view::keys_column_index;
  auto const size              = node.offset + node.length;
  auto const& indices          = child_of(column, indices_index, path);
  if (indices.size() < begin + size) {
    fail_invalid(path,
                 "expected at least " + std::to_string(begin + size) + " dictionary indices, got " +
                   std::to_string(indices.size()));
  }
  auto const& keys = child_of(column, keys_index, path);
  fill_indices(node, indices, begin, keys.size(), level);
  node.dictionary    = tree_.add_nodes(1);
  auto const* values = target == nullptr ? nullptr : &schema_->nodes[target->dictionary];
  fill(node.dictionary, keys, own_rows(keys), values, path);
}

/// Fills in the indices in the schema's index type. They are shared if only signedness differs:
/// indices are not negative and less than `num_keys`, so their bits are the same.
void array_builder::fill_indices(array_node& node,
                                 cudf::column_view const& indices,
                                 std::int64_t begin,
                                 std::int64_t num_keys,
                                 export_level const& level)
{
  auto const& step  = level.step;
  auto const bits   = bits_of(indices.type());
  auto const* first = row_of(indices, begin, bits);
  node.per_row      = step.element_bits;
  if (indices.type().id() != step.index && num_keys > max_keys(step.index)) {
    fail_too_many(level.path,
                  num_keys,
                  max_keys(step.index),
                  "dictionary values by the requested index type",
                  "request a wider type");
  }
  if (bits == step.element_bits) {
    node.buffers[1] = first;
    return;
  }
  auto const size = static_cast<cudf::size_type>(node.offset + node.length);
  set_converted(node, copy_reason::index_width, level.path, [&] {
    return cast_values(first, size, indices.type().id(), step.index, exec_);
  });
}

}  // namespace cudf_arrow_bridge::detail
