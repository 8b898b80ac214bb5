// SPDX-License-Identifier: Apache-2.0
#include "import/column_importer.hpp"

#include "compute/host_access.hpp"
#include "cuda/location/location.hpp"
#include "validate/validate.hpp"

#include <cudf/utilities/traits.hpp>

#include <algorithm>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

constexpr std::int64_t word_bits = 32;  ///< bits of a `cudf::bitmask_type`

/// Whether an array or, below structs, one of its descendants has a mask. A sliced STRUCT applies
/// its offset to all children, so they must keep the same number of leading rows.
bool has_mask_in_struct(parsed_tree const& types, ArrowArray const& array)
{
  if (has_mask(array)) { return true; }
  if (types.type.layout != array_layout::validity) { return false; }
  for (std::size_t i = 0; i < types.children.size(); ++i) {
    if (has_mask_in_struct(types.children[i], *array.children[i])) { return true; }
  }
  return false;
}

/// Whether an array or, below structs, one of its descendants has offsets (strings, lists).
bool has_offsets_in_struct(parsed_tree const& types)
{
  if (types.type.layout != array_layout::validity) { return has_offsets(types.type.layout); }
  return std::any_of(types.children.begin(), types.children.end(), has_offsets_in_struct);
}

/// Whether offsets are not negative and ascend. For host memory only, because on a device the check
/// would synchronize.
bool has_sound_offsets(parsed_type const& type, ArrowArray const& array, level_rows rows)
{
  if (rows.size == 0) { return true; }  // the producer may omit the one offset
  auto const width   = offset_width(type.layout);
  auto const* offset = static_cast<std::byte const*>(array.buffers[1]) + rows.begin * width;
  auto previous      = std::int64_t{0};
  for (auto row = std::int64_t{0}; row <= rows.size; ++row, offset += width) {
    if (host::read_integer(offset, width) < previous) { return false; }
    previous = host::read_integer(offset, width);
  }
  return true;
}

/// Whether rows before a slice, whose contents are unspecified, can be imported with it. They
/// cannot if the import would read data at a position stored in them (a view, a run end, an index
/// of a dictionary that may have null keys), or, on the host, if their offsets are negative or
/// descend.
bool can_keep_rows(parsed_tree const& types, ArrowArray const& array, level_rows rows, bool on_host)
{
  auto const& type = types.type;
  if (array.dictionary != nullptr) { return !may_have_null_keys(types, array); }
  switch (type.layout) {
    case array_layout::views:
    case array_layout::list_views32:
    case array_layout::list_views64:
    case array_layout::runs: return false;
    case array_layout::validity:
    case array_layout::fixed_lists: break;
    default: return !on_host || !has_offsets(type.layout) || has_sound_offsets(type, array, rows);
  }
  for (std::size_t i = 0; i < types.children.size(); ++i) {
    auto const& child   = *array.children[i];
    auto const its_rows = rows_of_child(type, array, rows, child);
    if (!can_keep_rows(types.children[i], child, its_rows, on_host)) { return false; }
  }
  return true;
}

/// Whether libcudf can copy a mask in place: it copies blocks of 64 bytes, past the last row, so
/// the allocation must not end before. The end of host allocations is unknown; they are accepted,
/// because copies of host columns read only the rows.
bool can_read_mask(mask_range const& mask)
{
  auto const size = static_cast<std::size_t>(padded_mask_size(mask.bits.size));
  return mask.null_count == 0 || !ends_before(mask.first(), size);
}

/// Whether a column of this type can use the producer's buffers, if they are aligned.
bool can_be_borrowed(parsed_type const& type)
{
  if (type.row->on_import != type_support::zero_copy) { return false; }
  switch (type.layout) {
    case array_layout::fixed: return cudf::is_fixed_width(type.column);
    case array_layout::string32:
    case array_layout::string64: return type.column.id() == cudf::type_id::STRING;
    default: return false;
  }
}

}  // namespace

mask_range column_importer::find_mask(import_level const& level) const
{
  auto const& [types, array, rows, path, parent] = level;
  auto const nulls                               = [&]() -> cudf::size_type {
    if (auto const stated = stated_null_count(array, rows)) { return *stated; }
    auto const* known = find_facts(facts_, types, &rows);
    return known != nullptr ? known->null_count
                            : count_nulls({array.buffers[0], rows.begin, rows.size}, exec_);
  }();
  if (nulls == 0) { return {}; }
  return {{array.buffers[0], rows.storage_begin(), rows.storage_size()}, nulls};
}

counted_mask column_importer::import_mask(import_level const& level) const
{
  auto mask = no_buffer();
  if (num_buffers(level.type().layout) == 0) { return {std::move(mask), 0}; }
  auto const* known = find_facts(facts_, level.types, &level.rows);
  if (known != nullptr && known->mask) {
    auto const taken = [&] { return std::move(*known->mask); };
    return {make(copy_reason::nulls_of_structs, level.path, taken), known->null_count};
  }
  auto const source = find_mask(level);
  if (source.null_count > 0) {
    auto const copy = [&] { return copy_bits(source.bits, exec_); };
    mask            = source.is_on_word() && can_read_mask(source)
                        ? take(source.first(), bytes_for_bits(source.bits.size))
                        : make(copy_reason::mask_position, level.path, copy);
  }
  auto own = counted_mask{std::move(mask), source.null_count};
  // The facts include the nulls of structs.
  if (known != nullptr) { return own; }
  auto const own_rows = row_mask{own.mask.data(), own.null_count};
  auto made           = with_nulls(own_rows, level.parent, level.rows.num_rows(), level.path);
  return made ? std::move(*made) : std::move(own);
}

std::optional<counted_mask> column_importer::with_nulls(row_mask const& own,
                                                        row_mask const& parent,
                                                        cudf::size_type size,
                                                        column_path const& path) const
{
  if (!sanitize_ || parent.null_count == 0) { return std::nullopt; }
  auto const both  = own.null_count > 0
                       ? valid_in_both({own.bits, 0, size}, {parent.bits, 0, size}, exec_.scratch())
                       : no_buffer();
  auto const* bits = both.is_empty() ? parent.bits : both.data();
  auto const nulls = count_nulls({bits, 0, size}, exec_);
  if (nulls == own.null_count) { return std::nullopt; }
  // The copy is padded, as libcudf's masks are.
  auto const copy = [&] { return copy_bits({bits, 0, size}, exec_); };
  return counted_mask{make(copy_reason::nulls_of_structs, path, copy), nulls};
}

void column_importer::add_nulls(cudf::column& field,
                                row_mask const& parent,
                                column_path const& path) const
{
  // Columns of nulls have no mask.
  if (parent.null_count == 0 || field.type().id() == cudf::type_id::EMPTY) { return; }
  auto const own = row_mask{field.view().null_mask(), field.null_count()};
  auto made      = with_nulls(own, parent, field.size(), path);
  if (!made) { return; }
  field.set_null_mask(std::move(made->mask), made->null_count);
  if (field.type().id() != cudf::type_id::STRUCT) { return; }
  for (cudf::size_type i = 0; i < field.num_children(); ++i) {
    add_nulls(field.child(i), {field.view().null_mask(), field.null_count()}, path);
  }
}

std::unique_ptr<cudf::column> column_importer::column(import_level const& level) const
{
  auto const size = level.rows.num_rows();
  check_rows(level.rows.storage_size(), level.path);
  auto masked = import_mask(level);
  auto parts  = import_layout(*this, level, {masked.mask.data(), masked.null_count});
  if (parts.mask) { masked = std::move(*parts.mask); }
  auto result = std::make_unique<cudf::column>(level.type().column,
                                               size,
                                               std::move(parts.data),
                                               std::move(masked.mask),
                                               masked.null_count,
                                               std::move(parts.children));
  // Other layouts keep the imported mask.
  if (level.type().layout == array_layout::runs) { add_nulls(*result, level.parent, level.path); }
  return result;
}

rmm::device_buffer column_importer::take(void const* memory, std::int64_t size) const
{ return adopt(share_, memory, size, exec_.stream, exec_.mr); }

/// On the host 8 bytes are enough also for decimal128, which some Arrow producers align to 8.
bool column_importer::is_aligned(void const* memory, std::int64_t width) const
{
  auto const alignment =
    static_cast<std::uintptr_t>(exec_.host ? std::min<std::int64_t>(width, 8) : width);
  return reinterpret_cast<std::uintptr_t>(memory) % alignment == 0;
}

rmm::device_buffer column_importer::take_aligned(void const* memory,
                                                 std::int64_t size,
                                                 std::int64_t width,
                                                 column_path const& path) const
{
  if (is_aligned(memory, width)) { return take(memory, size); }
  return make(copy_reason::alignment, path, [&] { return copy_bytes(memory, size, exec_); });
}

bool column_importer::has_only_bools(import_level const& level) const
{
  if (level.type().column.id() != cudf::type_id::BOOL8) { return true; }
  auto const* known = find_facts(facts_, level.types, &level.rows);
  if (known != nullptr) { return known->are_bools; }
  auto const* bytes = static_cast<std::byte const*>(level.array.buffers[1]);
  return are_bools(bytes + level.rows.storage_begin(), level.rows.num_rows(), exec_);
}

bool column_importer::borrow(import_level const& level, imported_column& result) const
{
  auto const& [types, array, rows, path, parent] = level;
  if (rows.size == 0 || !can_be_borrowed(types.type)) { return false; }
  check_rows(rows.storage_size(), path);
  auto const mask = find_mask(level);
  if (!mask.is_on_word() || !can_read_mask(mask)) { return false; }
  auto const strings = has_offsets(types.type.layout);
  auto const width   = strings ? offset_width(types.type.layout) : types.type.element_bits / 8;
  auto const* first =
    static_cast<std::byte const*>(array.buffers[1]) + rows.storage_begin() * width;
  auto const* data = static_cast<void const*>(first);
  auto children    = std::vector<cudf::column_view>{};
  if (!is_aligned(first, width) || !has_only_bools(level)) { return false; }
  if (strings) {
    auto const ends = find_ends(level);
    if (origin_of(types.type, rows, ends) != 0) { return false; }
    auto const type  = width == 8 ? cudf::type_id::INT64 : cudf::type_id::INT32;
    data             = array.buffers[2];
    result.data_size = ends.last;
    children.push_back(flat_view(type, rows.storage_size() + 1, first));
  } else {
    result.data_size = rows.storage_size() * width;
  }
  auto const view_of = [&](std::int64_t offset, std::int64_t size) {
    return cudf::column_view{types.type.column,
                             static_cast<cudf::size_type>(size),
                             data,
                             reinterpret_cast<cudf::bitmask_type const*>(mask.first()),
                             mask.null_count,
                             static_cast<cudf::size_type>(offset),
                             children};
  };
  if (sanitize_ && strings && mask.null_count > 0) {
    auto const* known = find_facts(facts_, types, &rows);
    auto const clean  = known != nullptr && known->is_clean;
    if (!clean && needs_emptying(view_of(0, rows.storage_size()), exec_)) { return false; }
  }
  result.borrowed = view_of(rows.leading, rows.size);
  result.offset   = result.borrowed.offset();
  result.size     = result.borrowed.size();
  return true;
}

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

bool may_have_null_keys(parsed_tree const& types, ArrowArray const& array)
{
  auto const& keys = *array.dictionary;
  // Nested dictionaries, null arrays and runs may have nulls without a mask.
  return has_mask(keys) || keys.dictionary != nullptr ||
         num_buffers(types.children[0].type.layout) == 0;
}

bool has_mask(ArrowArray const& array)
{ return array.n_buffers > 0 && array.buffers[0] != nullptr && array.null_count != 0; }

std::optional<cudf::size_type> stated_null_count(ArrowArray const& array, row_range const& rows)
{
  if (!has_mask(array) || rows.size == 0) { return 0; }
  auto const whole = rows.begin == array.offset && rows.size == array.length;
  if (!whole || array.null_count < 0) { return {}; }
  return static_cast<cudf::size_type>(array.null_count);
}

row_range choose_rows(parsed_tree const& types,
                      ArrowArray const& array,
                      std::int64_t begin,
                      std::int64_t size,
                      execution const& exec)
{
  auto const first   = array.offset + begin;
  auto const masked  = has_mask_in_struct(types, array);
  auto const in_word = masked ? first % word_bits : 0;
  // Example with a mask: first = 37 keeps 37 % 32 = 5 leading rows, so that the mask begins at a
  // word. first = 64 needs none for the mask, but strings and lists need one for their offsets;
  // with a mask that takes a whole word, 32 rows. At least 32 rows precede it, as 64 is a multiple
  // of 32.
  auto const needs_leading_row = in_word == 0 && first > 0 && has_offsets_in_struct(types);
  auto const leading           = needs_leading_row ? (masked ? word_bits : 1) : in_word;
  auto const fits              = size + leading <= max_rows;
  auto const keep              = size > 0 && leading > 0 && fits &&
                                 can_keep_rows(types, array, {first - leading, leading}, exec.host);
  return {first, size, keep ? leading : 0};
}

row_range child_rows(parsed_type const& type, ArrowArray const& child, row_range const& rows)
{
  if (type.layout == array_layout::fixed_lists) {
    return {child.offset + rows.storage_begin() * type.list_size,
            rows.storage_size() * type.list_size,
            0};
  }
  // libcudf ignores the offsets of a struct's children, so a child begins at the struct's first
  // stored row. The struct's leading rows are ordinary rows of the child: its null count includes
  // them.
  return {child.offset + rows.storage_begin(), rows.storage_size(), 0, rows.sliced};
}

}  // namespace cudf_arrow_bridge::detail
