// SPDX-License-Identifier: Apache-2.0
#include "compute/arrow_views.hpp"
#include "compute/dictionary.hpp"
#include "compute/gather.hpp"
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
  auto const* bytes = static_cast<std::byte const*>(level.array.buffers[2]);
  auto const type   = width == 8 ? cudf::type_id::INT64 : cudf::type_id::INT32;
  result.children.push_back(import_offsets(level, origin, type));
  result.data = take(bytes + origin, ends.last - origin);
  return result;
}

column_parts column_importer::import_binary(import_level const& level) const
{ return bytes_in_lists(import_list_offsets(level), level.array.buffers[2]); }

column_parts column_importer::import_fixed_size_binary(import_level const& level) const
{
  return bytes_in_lists(make_offsets(level, level.type().element_bits / 8), level.array.buffers[1]);
}

column_parts column_importer::import_lists(import_level const& level) const
{
  auto offsets        = import_list_offsets(level);
  auto const& element = *level.array.children[0];
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

namespace {

void check_elements(std::int64_t elements, column_path const& path)
{
  if (elements > max_offset) { fail_too_many(path, elements, max_offset, "list elements"); }
}

}  // namespace

list_offsets column_importer::no_offsets() const
{ return {flat_column(cudf::type_id::INT32, 0, no_buffer()), 0, 0}; }

std::byte const* first_offset(import_level const& level)
{
  return static_cast<std::byte const*>(level.array.buffers[1]) +
         level.rows.storage_begin() * offset_width(level.type().layout);
}

offset_ends column_importer::find_ends(import_level const& level) const
{
  auto const size = level.rows.storage_size();
  if (size == 0) { return {}; }
  auto const* known = find_facts(facts_, level.types, &level.rows);
  auto const ends =
    known != nullptr && known->ends
      ? *known->ends
      : read_ends(first_offset(level), size, offset_width(level.type().layout), exec_);
  check_ends(level.type().layout, level.array, ends.first, ends.last, level.path);
  return ends;
}

std::int64_t origin_of(parsed_type const& type, row_range const& rows, offset_ends const& ends)
{
  auto const narrowed = type.column.id() == cudf::type_id::LIST && offset_width(type.layout) == 8;
  return rows.sliced && !narrowed ? 0 : ends.first;
}

std::unique_ptr<cudf::column> column_importer::import_offsets(import_level const& level,
                                                              std::int64_t origin,
                                                              cudf::type_id type) const
{
  auto const width  = offset_width(level.type().layout);
  auto const stored = width == 8 ? cudf::type_id::INT64 : cudf::type_id::INT32;
  auto const count  = level.rows.storage_size() + 1;
  auto const* first = first_offset(level);
  if (origin == 0 && stored == type) {
    return flat_column(type, count, take_aligned(first, count * width, width, level.path));
  }
  auto const reason = stored == type ? copy_reason::first_offset : copy_reason::wide_offsets;
  auto const rebase = [&] { return rebase_offsets({first, count, stored}, origin, type, exec_); };
  return flat_column(type, count, make(reason, level.path, rebase));
}

list_offsets column_importer::import_list_offsets(import_level const& level) const
{
  if (level.rows.storage_size() == 0) { return no_offsets(); }
  auto const ends   = find_ends(level);
  auto const origin = origin_of(level.type(), level.rows, ends);
  check_elements(ends.last - origin, level.path);
  return {import_offsets(level, origin, cudf::type_id::INT32), origin, ends.last - origin};
}

list_offsets column_importer::make_offsets(import_level const& level, std::int64_t list_size) const
{
  auto const rows = level.rows.storage_size();
  if (rows == 0) { return no_offsets(); }
  check_elements(rows * list_size, level.path);
  auto const count = [&] {
    return count_up(rows + 1, static_cast<std::int32_t>(list_size), exec_);
  };
  return {
    flat_column(cudf::type_id::INT32, rows + 1, make(copy_reason::no_offsets, level.path, count)),
    level.rows.storage_begin() * list_size,
    rows * list_size};
}

column_parts column_importer::import_views(import_level const& level, row_mask const& mask) const
{
  auto const is_text = level.type().column.id() == cudf::type_id::STRING;
  auto result        = column_parts{no_buffer(), {}};
  if (level.rows.storage_size() == 0) {
    if (!is_text) {
      result.children.push_back(no_offsets().column);
      result.children.push_back(flat_column(cudf::type_id::UINT8, 0, no_buffer()));
    }
    return result;
  }
  auto const& array     = level.array;
  auto const num_data   = static_cast<std::size_t>(array.n_buffers - 3);
  auto const* last      = array.buffers[array.n_buffers - 1];
  auto const view_array = view_rows{array.buffers[1],
                                    level.rows.storage_begin(),
                                    level.rows.num_rows(),
                                    mask,
                                    {array.buffers + 2, num_data},
                                    last};
  copies_.need(copy_reason::views, level.path);
  auto strings = strings_from_views(view_array, level.path, exec_);
  note(strings.data, copy_reason::views);
  note(strings.offsets, copy_reason::views);
  auto const size     = static_cast<std::int64_t>(strings.data.size());
  auto const is_small = strings.offsets->type().id() == cudf::type_id::INT32;
  result.children.push_back(std::move(strings.offsets));
  if (is_text) {
    result.data = std::move(strings.data);
    return result;
  }
  if (!is_small) { fail_too_many(level.path, size, max_offset, "bytes"); }
  result.children.push_back(flat_column(cudf::type_id::UINT8, size, std::move(strings.data)));
  return result;
}

column_parts column_importer::import_list_views(import_level const& level,
                                                row_mask const& mask) const
{
  auto const& array   = level.array;
  auto const& element = *array.children[0];
  if (level.rows.storage_size() == 0) {
    return elements_in_lists(level, no_offsets().column, {element.offset, 0, 0});
  }
  copies_.need(copy_reason::list_views, level.path);
  auto lists = lists_from_views({array.buffers[1],
                                 array.buffers[2],
                                 offset_width(level.type().layout),
                                 level.rows.storage_begin(),
                                 level.rows.num_rows(),
                                 mask,
                                 element.length},
                                level.path,
                                exec_);
  note(lists.offsets, copy_reason::list_views);
  auto const gathers = lists.elements != nullptr;
  auto const exec    = gathers ? exec_.scratch() : exec_;
  auto const path    = column_path{level.path, "[]"};
  auto const rows    = row_range{element.offset + lists.first, lists.num_elements, 0};
  auto elements      = with(exec).column({level.types.children[0], element, rows, path});
  if (gathers) {
    elements = gather_rows(elements->view(), lists.elements->view(), path, exec_);
    note(elements, copy_reason::list_views);
  }
  auto result = column_parts{no_buffer(), {}};
  result.children.push_back(std::move(lists.offsets));
  result.children.push_back(std::move(elements));
  return result;
}

namespace {

using cudf::type_id;

/// The type for indices in libcudf, which are signed. The width stays the same if all indices fit:
/// 128 values take UINT8 indices 0 to 127, whose bits are those of INT8; 129 values take INT16.
type_id signed_type(type_id index, std::int64_t num_values)
{
  switch (index) {
    case type_id::UINT8: return num_values > 128 ? type_id::INT16 : type_id::INT8;
    case type_id::UINT16: return num_values > 32'768 ? type_id::INT32 : type_id::INT16;
    case type_id::UINT32: return type_id::INT32;
    case type_id::UINT64: return type_id::INT64;
    default: return index;
  }
}

}  // namespace

std::unique_ptr<cudf::column> column_importer::import_indices(import_level const& level) const
{
  auto const stored = index_type(*level.types.schema);
  auto const wanted = signed_type(stored, level.array.dictionary->length);
  auto const size   = level.rows.storage_size();
  auto const same_width =
    cudf::size_of(cudf::data_type{stored}) == cudf::size_of(cudf::data_type{wanted});
  if (same_width || size == 0) { return flat_column(wanted, size, import_values(level).data); }
  auto const width = level.type().element_bits / 8;
  auto const* first =
    static_cast<std::byte const*>(level.array.buffers[1]) + level.rows.storage_begin() * width;
  auto const cast = [&] {
    return cast_values(first, level.rows.num_rows(), stored, wanted, exec_);
  };
  return flat_column(wanted, size, make(copy_reason::index_width, level.path, cast));
}

/// The keys of a dictionary. Keys that are dictionaries are decoded, because libcudf does not
/// support nested dictionaries.
std::unique_ptr<cudf::column> column_importer::import_keys(import_level const& level) const
{
  auto const& values = *level.array.dictionary;
  auto keys =
    column({level.types.children[0], values, {values.offset, values.length, 0}, level.path});
  if (keys->type().id() != type_id::DICTIONARY32) { return keys; }
  if (keys->size() == 0) { return decode_dictionary(keys->view(), level.path, exec_); }
  return make(copy_reason::nested_dictionary, level.path, [&] {
    if (!exec_.host) { check_indices_on_device(keys->view(), level.path, exec_); }
    return decode_dictionary(keys->view(), level.path, exec_);
  });
}

bool may_have_null_keys(parsed_tree const& types, ArrowArray const& array)
{
  auto const& keys = *array.dictionary;
  // Nested dictionaries, null arrays and runs may have nulls without a mask.
  return has_mask(keys) || keys.dictionary != nullptr ||
         num_buffers(types.children[0].type.layout) == 0;
}

column_parts column_importer::import_dictionary(import_level const& level,
                                                row_mask const& mask) const
{
  auto result = column_parts{no_buffer(), {}};
  auto codes  = import_indices(level);
  auto keys   = import_keys(level);
  if (keys->type().id() == type_id::EMPTY) {
    // Arrow's null type: all keys are null, and libcudf allows no null keys. So the dictionary gets
    // no keys and all rows are null; the indices of null rows are not read.
    keys            = column({level.types.children[0], *level.array.dictionary, {}, level.path});
    auto const rows = level.rows.num_rows();
    auto const all_null = [&] { return zeros(padded_mask_size(rows), exec_); };
    result.mask         = counted_mask{make(copy_reason::null_values, level.path, all_null), rows};
  } else if (keys->null_count() > 0) {
    if (codes->size() > 0 || keys->null_count() < keys->size()) {
      copies_.need(copy_reason::null_values, level.path);
    }
    auto made = drop_null_keys(codes->view(), keys->view(), mask, level.path, exec_);
    codes     = std::move(made.indices);
    keys      = std::move(made.keys);
    note(codes, copy_reason::null_values);
    note(keys, copy_reason::null_values);
    note(made.mask, copy_reason::null_values);
    result.mask = counted_mask{std::move(made.mask), made.null_count};
  }
  result.children.push_back(std::move(codes));
  result.children.push_back(std::move(keys));
  return result;
}

}  // namespace cudf_arrow_bridge::detail
