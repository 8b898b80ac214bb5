// SPDX-License-Identifier: Apache-2.0
#include "compute/arrow_views.hpp"
#include "compute/dictionary.hpp"
#include "compute/gather.hpp"
#include "import/column_importer.hpp"

#include <cudf/utilities/error.hpp>

#include <memory>
#include <string_view>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

using cudf::type_id;

void check_elements(std::int64_t elements, column_path const& path)
{
  if (elements > max_offset) { fail_too_many(path, elements, max_offset, "list elements"); }
}

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

/// INT32 offsets of lists, and the range of elements they cover.
struct list_offsets {
  std::unique_ptr<cudf::column> column;  ///< empty if there are no rows
  std::int64_t begin;                    ///< index of the element that offset 0 refers to
  std::int64_t size;                     ///< number of elements
};

/// Imports the data and the children of one level. There is one function for each Arrow layout.
class layout_importer : column_importer {
 public:
  layout_importer(column_importer const& columns, import_level const& level, row_mask const& mask)
    : column_importer{columns},
      level_{level},
      array_{level.array},
      rows_{level.rows},
      type_{level.type()},
      path_{level.path},
      mask_{mask}
  {
  }

  [[nodiscard]] column_parts parts() const
  {
    switch (type_.layout) {
      case array_layout::null:
        return {no_buffer(), {}, counted_mask{no_buffer(), rows_.num_rows()}};
      case array_layout::fixed:
        switch (type_.column.id()) {
          case type_id::LIST:
            return bytes_in_lists(make_offsets(type_.element_bits / 8), array_.buffers[1]);
          case type_id::DICTIONARY32: return dictionary();
          default: return {values(), {}};
        }
      case array_layout::offsets32:
      case array_layout::offsets64: return lists();
      case array_layout::string32:
      case array_layout::string64:
        return type_.column.id() == type_id::LIST
                 ? bytes_in_lists(import_list_offsets(), array_.buffers[2])
                 : strings();
      case array_layout::validity: return fields();
      case array_layout::fixed_lists:
        return elements_in_lists(make_offsets(type_.list_size).column,
                                 child_rows(type_, *array_.children[0], rows_));
      case array_layout::views: return views();
      case array_layout::list_views32:
      case array_layout::list_views64: return list_views();
      case array_layout::runs: return runs();
    }
    throw cudf::logic_error{"no such layout"};
  }

 private:
  /// Fixed-width values: adopted, or converted (bools, half floats, times of 32 bits).
  [[nodiscard]] rmm::device_buffer values() const
  {
    auto const id     = type_.column.id();
    auto const* bytes = static_cast<std::byte const*>(array_.buffers[1]);
    if (rows_.storage_size() == 0) { return no_buffer(); }
    if (id == type_id::BOOL8 && type_.element_bits == 1) {
      return make(copy_reason::bools, path_, [&] {
        return unpack_bools({bytes, rows_.storage_begin(), rows_.storage_size()}, exec_);
      });
    }
    auto const width  = type_.element_bits / 8;
    auto const* first = bytes + rows_.storage_begin() * width;
    auto const cast   = [&](std::string_view reason, type_id from) {
      return make(
        reason, path_, [&] { return cast_values(first, rows_.num_rows(), from, id, exec_); });
    };
    if (!has_only_bools(level_)) { return cast(copy_reason::bool_bytes, type_id::UINT8); }
    if (type_.row->on_import != type_support::converted) {
      return take_aligned(first, rows_.storage_size() * width, width, path_);
    }
    if (id != type_id::FLOAT32) { return cast(copy_reason::times, type_id::INT32); }
    return make(
      copy_reason::halves, path_, [&] { return widen_halves(first, rows_.num_rows(), exec_); });
  }

  [[nodiscard]] column_parts fields() const
  {
    auto result = column_parts{no_buffer(), {}};
    for (std::size_t i = 0; i < level_.types.children.size(); ++i) {
      auto const& field = level_.types.children[i];
      auto const& child = *array_.children[i];
      auto const path   = column_path{path_, field.schema->name};
      result.children.push_back(
        column({field, child, child_rows(type_, child, rows_), path, mask_}));
    }
    return result;
  }

  /// Strings, with offsets of either width.
  [[nodiscard]] column_parts strings() const
  {
    auto const size  = rows_.storage_size();
    auto const width = offset_width(type_.layout);
    auto const type  = width == 8 ? type_id::INT64 : type_id::INT32;
    auto result      = column_parts{no_buffer(), {}};
    if (size == 0) {
      // Only the type of the offsets child marks large strings, so an empty column also gets one.
      if (width == 8) { result.children.push_back(flat_column(type, 1, zeros(width, exec_))); }
      return result;
    }
    auto const ends   = find_ends(level_);
    auto const origin = origin_of(type_, rows_, ends);
    auto const* bytes = static_cast<std::byte const*>(array_.buffers[2]);
    result.children.push_back(import_offsets(origin, type));
    result.data = take(bytes + origin, ends.last - origin);
    return result;
  }

  /// The producer's offsets minus `origin`, as `type` (INT32 or INT64). Adopted if they are equal.
  /// There must be at least one row.
  [[nodiscard]] std::unique_ptr<cudf::column> import_offsets(std::int64_t origin,
                                                             type_id type) const
  {
    auto const width  = offset_width(type_.layout);
    auto const stored = width == 8 ? type_id::INT64 : type_id::INT32;
    auto const count  = rows_.storage_size() + 1;
    auto const* first = first_offset(level_);
    if (origin == 0 && stored == type) {
      return flat_column(type, count, take_aligned(first, count * width, width, path_));
    }
    auto const reason = stored == type ? copy_reason::first_offset : copy_reason::wide_offsets;
    auto const rebase = [&] { return rebase_offsets({first, count, stored}, origin, type, exec_); };
    return flat_column(type, count, make(reason, path_, rebase));
  }

  [[nodiscard]] list_offsets no_offsets() const
  { return {flat_column(type_id::INT32, 0, no_buffer()), 0, 0}; }

  /// INT32 offsets of a list or binary array. They begin at `origin_of`, so only the elements of
  /// these rows are limited by `cudf::size_type`.
  [[nodiscard]] list_offsets import_list_offsets() const
  {
    if (rows_.storage_size() == 0) { return no_offsets(); }
    auto const ends   = find_ends(level_);
    auto const origin = origin_of(type_, rows_, ends);
    check_elements(ends.last - origin, path_);
    return {import_offsets(origin, type_id::INT32), origin, ends.last - origin};
  }

  /// Offsets of lists of `list_size` elements each: {0, list_size, 2 * list_size, ...}.
  [[nodiscard]] list_offsets make_offsets(std::int64_t list_size) const
  {
    auto const rows = rows_.storage_size();
    if (rows == 0) { return no_offsets(); }
    check_elements(rows * list_size, path_);
    auto made = make(copy_reason::no_offsets, path_, [&] {
      return count_up(rows + 1, static_cast<std::int32_t>(list_size), exec_);
    });
    return {flat_column(type_id::INT32, rows + 1, std::move(made)),
            rows_.storage_begin() * list_size,
            rows * list_size};
  }

  /// Binary data as LIST<UINT8>.
  [[nodiscard]] column_parts bytes_in_lists(list_offsets&& offsets, void const* bytes) const
  {
    auto const* first = static_cast<std::byte const*>(bytes) + offsets.begin;
    auto result       = column_parts{no_buffer(), {}};
    result.children.push_back(std::move(offsets.column));
    result.children.push_back(flat_column(type_id::UINT8, offsets.size, take(first, offsets.size)));
    return result;
  }

  [[nodiscard]] column_parts elements_in_lists(std::unique_ptr<cudf::column> offsets,
                                               row_range const& elements) const
  {
    auto const path = column_path{path_, "[]"};
    auto result     = column_parts{no_buffer(), {}};
    result.children.push_back(std::move(offsets));
    result.children.push_back(
      column({level_.types.children[0], *array_.children[0], elements, path}));
    return result;
  }

  /// Lists with offsets of either width, and maps.
  [[nodiscard]] column_parts lists() const
  {
    auto offsets     = import_list_offsets();
    auto const begin = array_.children[0]->offset + offsets.begin;
    return elements_in_lists(std::move(offsets.column), {begin, offsets.size, 0});
  }

  /// String views, or binary views as LIST<UINT8>, whose bytes are copied to one buffer.
  [[nodiscard]] column_parts views() const
  {
    auto const is_text = type_.column.id() == type_id::STRING;
    auto result        = column_parts{no_buffer(), {}};
    if (rows_.storage_size() == 0) {
      return is_text ? std::move(result) : bytes_in_lists(no_offsets(), nullptr);
    }
    auto const num_data   = static_cast<std::size_t>(array_.n_buffers - 3);
    auto const view_array = view_rows{array_.buffers[1],
                                      rows_.storage_begin(),
                                      rows_.num_rows(),
                                      mask_,
                                      {array_.buffers + 2, num_data},
                                      array_.buffers[array_.n_buffers - 1]};
    copies_.need(copy_reason::views, path_);
    auto strings = strings_from_views(view_array, path_, exec_);
    note(strings.data, copy_reason::views);
    note(strings.offsets, copy_reason::views);
    auto const size     = static_cast<std::int64_t>(strings.data.size());
    auto const is_small = strings.offsets->type().id() == type_id::INT32;
    result.children.push_back(std::move(strings.offsets));
    if (is_text) {
      result.data = std::move(strings.data);
      return result;
    }
    if (!is_small) { fail_too_many(path_, size, max_offset, "bytes"); }
    result.children.push_back(flat_column(type_id::UINT8, size, std::move(strings.data)));
    return result;
  }

  /// List views; the elements are gathered unless the lists are contiguous and in order.
  [[nodiscard]] column_parts list_views() const
  {
    auto const& element = *array_.children[0];
    if (rows_.storage_size() == 0) {
      return elements_in_lists(no_offsets().column, {element.offset, 0, 0});
    }
    copies_.need(copy_reason::list_views, path_);
    auto lists = lists_from_views({array_.buffers[1],
                                   array_.buffers[2],
                                   offset_width(type_.layout),
                                   rows_.storage_begin(),
                                   rows_.num_rows(),
                                   mask_,
                                   element.length},
                                  path_,
                                  exec_);
    note(lists.offsets, copy_reason::list_views);
    auto const gathers = lists.elements != nullptr;
    auto const exec    = gathers ? exec_.scratch() : exec_;
    auto const path    = column_path{path_, "[]"};
    auto const rows    = row_range{element.offset + lists.first, lists.num_elements, 0};
    auto elements      = with(exec).column({level_.types.children[0], element, rows, path});
    if (gathers) {
      elements = gather_rows(elements->view(), lists.elements->view(), path, exec_);
      note(elements, copy_reason::list_views);
    }
    auto result = column_parts{no_buffer(), {}};
    result.children.push_back(std::move(lists.offsets));
    result.children.push_back(std::move(elements));
    return result;
  }

  /// Run-end encoded values, decoded: each value is repeated for its run. Sets the mask.
  [[nodiscard]] column_parts runs() const
  {
    auto column           = decode_runs();
    auto const null_count = column->null_count();
    auto contents         = column->release();
    return {std::move(*contents.data),
            std::move(contents.children),
            counted_mask{std::move(*contents.null_mask), null_count}};
  }

  [[nodiscard]] std::unique_ptr<cudf::column> decode_runs() const
  {
    auto const& ends         = *array_.children[0];
    auto const& values       = *array_.children[1];
    auto const& types        = level_.types.children[1];
    auto const path          = column_path{path_, types.schema->name};
    auto const decode_values = [&](column_importer const& by, std::int64_t size) {
      return by.column({types, values, {values.offset, size, 0}, path});
    };
    if (rows_.storage_size() == 0) { return decode_values(*this, 0); }
    auto const width  = level_.types.children[0].type.element_bits / 8;
    auto const repeat = [&] {
      auto const scratch = exec_.scratch();
      return repeat_runs(decode_values(with(scratch), ends.length)->view(),
                         {static_cast<std::byte const*>(ends.buffers[1]) + ends.offset * width,
                          width,
                          ends.length,
                          rows_.storage_begin(),
                          rows_.num_rows()},
                         path_,
                         exec_);
    };
    // Nulls have no buffers.
    return types.type.layout == array_layout::null ? repeat()
                                                   : make(copy_reason::runs, path_, repeat);
  }

  /// Indices and keys of a dictionary. Null keys are removed, with the mask set accordingly.
  [[nodiscard]] column_parts dictionary() const
  {
    auto result = column_parts{no_buffer(), {}};
    auto codes  = indices();
    auto keys   = this->keys();
    if (keys->type().id() == type_id::EMPTY) {
      // Arrow's null type: all keys are null, and libcudf allows no null keys. So the dictionary
      // gets no keys and all rows are null; the indices of null rows are not read.
      keys                = column({level_.types.children[0], *array_.dictionary, {}, path_});
      auto const rows     = rows_.num_rows();
      auto const all_null = [&] { return zeros(padded_mask_size(rows), exec_); };
      result.mask         = counted_mask{make(copy_reason::null_values, path_, all_null), rows};
    } else if (keys->null_count() > 0) {
      if (codes->size() > 0 || keys->null_count() < keys->size()) {
        copies_.need(copy_reason::null_values, path_);
      }
      auto const masked =
        flat_view(codes->type().id(), codes->size(), codes->view().head<void>(), mask_);
      auto made = drop_null_keys(masked, keys->view(), path_, exec_);
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

  [[nodiscard]] std::unique_ptr<cudf::column> indices() const
  {
    auto const stored = index_type(*level_.types.schema);
    auto const wanted = signed_type(stored, array_.dictionary->length);
    auto const size   = rows_.storage_size();
    auto const same_width =
      cudf::size_of(cudf::data_type{stored}) == cudf::size_of(cudf::data_type{wanted});
    if (same_width || size == 0) { return flat_column(wanted, size, values()); }
    auto const* bytes = static_cast<std::byte const*>(array_.buffers[1]);
    auto const* first = bytes + rows_.storage_begin() * (type_.element_bits / 8);
    auto const cast   = [&] { return cast_values(first, rows_.num_rows(), stored, wanted, exec_); };
    return flat_column(wanted, size, make(copy_reason::index_width, path_, cast));
  }

  /// The keys of a dictionary. Keys that are dictionaries are decoded, because libcudf does not
  /// support nested dictionaries.
  [[nodiscard]] std::unique_ptr<cudf::column> keys() const
  {
    auto const& values = *array_.dictionary;
    auto keys =
      column({level_.types.children[0], values, {values.offset, values.length, 0}, path_});
    if (keys->type().id() != type_id::DICTIONARY32) { return keys; }
    if (keys->size() == 0) { return decode_dictionary(keys->view(), path_, exec_); }
    return make(copy_reason::nested_dictionary, path_, [&] {
      if (!exec_.host) { check_indices_on_device(keys->view(), path_, exec_); }
      return decode_dictionary(keys->view(), path_, exec_);
    });
  }

  import_level const& level_;
  ArrowArray const& array_;
  row_range const& rows_;
  parsed_type const& type_;
  column_path const& path_;
  row_mask mask_;
};

}  // namespace

column_parts import_layout(column_importer const& columns,
                           import_level const& level,
                           row_mask const& mask)
{ return layout_importer{columns, level, mask}.parts(); }

}  // namespace cudf_arrow_bridge::detail
