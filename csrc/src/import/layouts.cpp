// SPDX-License-Identifier: Apache-2.0
#include "compute/arrow_views.hpp"
#include "import/column_importer.hpp"
#include "validate/validate.hpp"

#include <memory>
#include <string>
#include <utility>

namespace cudf_arrow_bridge::detail {

column_parts column_importer::bytes_in_lists(list_offsets&& offsets, void const* bytes) const
{
  auto const* first = static_cast<std::byte const*>(bytes) + offsets.begin;
  auto result       = column_parts{no_buffer(), {}};
  result.children.push_back(std::move(offsets.column));
  result.children.push_back(
    flat_column(cudf::type_id::UINT8, offsets.size, take(first, offsets.size)));
  return result;
}

column_parts column_importer::elements_in_lists(import_level const& level,
                                                std::unique_ptr<cudf::column> offsets,
                                                row_range const& elements) const
{
  auto const path = column_path{level.path, "[]"};
  auto result     = column_parts{no_buffer(), {}};
  result.children.push_back(std::move(offsets));
  result.children.push_back(
    column({level.types.children[0], *level.array.children[0], elements, path}));
  return result;
}

std::unique_ptr<cudf::column> column_importer::decode_runs(import_level const& level) const
{
  auto const& ends         = *level.array.children[0];
  auto const& values       = *level.array.children[1];
  auto const path          = column_path{level.path, level.types.children[1].schema->name};
  auto const decode_values = [&](column_importer const& by, std::int64_t size) {
    return by.column({level.types.children[1], values, {values.offset, size, 0}, path});
  };
  if (level.rows.storage_size() == 0) { return decode_values(*this, 0); }
  auto const width  = level.types.children[0].type.element_bits / 8;
  auto const repeat = [&] {
    auto const scratch = exec_.scratch();
    return repeat_runs(decode_values(with(scratch), ends.length)->view(),
                       {static_cast<std::byte const*>(ends.buffers[1]) + ends.offset * width,
                        width,
                        ends.length,
                        level.rows.storage_begin(),
                        level.rows.num_rows()},
                       level.path,
                       exec_);
  };
  // Nulls have no buffers.
  return level.types.children[1].type.layout == array_layout::null
           ? repeat()
           : make(copy_reason::runs, level.path, repeat);
}

column_parts column_importer::import_values(import_level const& level) const
{
  auto const& rows  = level.rows;
  auto const type   = level.type().column;
  auto const* bytes = static_cast<std::byte const*>(level.array.buffers[1]);
  if (rows.storage_size() == 0) { return {no_buffer(), {}}; }
  if (type.id() == cudf::type_id::BOOL8 && level.type().element_bits == 1) {
    return {
      make(copy_reason::bools,
           level.path,
           [&] { return unpack_bools({bytes, rows.storage_begin(), rows.storage_size()}, exec_); }),
      {}};
  }
  auto const width  = level.type().element_bits / 8;
  auto const* first = bytes + rows.storage_begin() * width;
  if (!has_only_bools(level)) {
    auto const normalize = [&] {
      return cast_values(first, rows.num_rows(), cudf::type_id::UINT8, cudf::type_id::BOOL8, exec_);
    };
    return {make(copy_reason::bool_bytes, level.path, normalize), {}};
  }
  if (level.type().row->on_import != type_support::converted) {
    return {take_aligned(first, rows.storage_size() * width, width, level.path), {}};
  }
  auto const is_half = type.id() == cudf::type_id::FLOAT32;
  auto const convert = [&] {
    return is_half ? widen_halves(first, rows.num_rows(), exec_)
                   : cast_values(first, rows.num_rows(), cudf::type_id::INT32, type.id(), exec_);
  };
  return {make(is_half ? copy_reason::halves : copy_reason::times, level.path, convert), {}};
}

column_parts column_importer::import_fields(import_level const& level) const
{
  auto result = column_parts{no_buffer(), {}};
  for (std::size_t i = 0; i < level.types.children.size(); ++i) {
    auto const& field = level.types.children[i];
    auto const& child = *level.array.children[i];
    auto const path   = column_path{level.path, field.schema->name};
    result.children.push_back(
      column({field, child, child_rows(level.type(), child, level.rows), path}));
  }
  return result;
}

column_parts column_importer::import_strings(import_level const& level) const
{
  auto const size  = level.rows.storage_size();
  auto const width = offset_width(level.type().layout);
  auto result      = column_parts{no_buffer(), {}};
  if (size == 0) {
    // Only the type of the offsets child marks large strings, so an empty column also gets one.
    if (width == 8) {
      result.children.push_back(flat_column(cudf::type_id::INT64, 1, zeros(width, exec_)));
    }
    return result;
  }
  auto const ends   = find_ends(level);
  auto const origin = origin_of(level.type(), level.rows, ends);
  check_string_data(ends.last, level.array.buffers[2], level.path);
  auto const* bytes = static_cast<std::byte const*>(level.array.buffers[2]);
  auto const type   = width == 8 ? cudf::type_id::INT64 : cudf::type_id::INT32;
  result.children.push_back(import_offsets(level, origin, type));
  result.data = take(bytes + origin, ends.last - origin);
  return result;
}

column_parts column_importer::import_binary(import_level const& level) const
{
  auto offsets      = import_list_offsets(level);
  auto const* bytes = level.array.buffers[2];
  check_string_data(offsets.size, bytes, level.path);
  return bytes_in_lists(std::move(offsets), bytes);
}

column_parts column_importer::import_fixed_size_binary(import_level const& level) const
{
  return bytes_in_lists(make_offsets(level, level.type().element_bits / 8), level.array.buffers[1]);
}

column_parts column_importer::import_lists(import_level const& level) const
{
  auto offsets        = import_list_offsets(level);
  auto const& element = *level.array.children[0];
  if (offsets.begin + offsets.size > element.length) {
    fail_invalid(level.path,
                 "expected at least " + std::to_string(offsets.begin + offsets.size) +
                   " list elements by the offsets, got " + std::to_string(element.length));
  }
  return elements_in_lists(
    level, std::move(offsets.column), {element.offset + offsets.begin, offsets.size, 0});
}

column_parts column_importer::import_fixed_size_lists(import_level const& level) const
{
  auto const& type = level.type();
  return elements_in_lists(level,
                           make_offsets(level, type.list_size).column,
                           child_rows(type, *level.array.children[0], level.rows));
}

column_parts column_importer::import_runs(import_level const& level) const
{
  auto column           = decode_runs(level);
  auto const null_count = column->null_count();
  auto contents         = column->release();
  return {std::move(*contents.data),
          std::move(contents.children),
          counted_mask{std::move(*contents.null_mask), null_count}};
}

}  // namespace cudf_arrow_bridge::detail
