// SPDX-License-Identifier: Apache-2.0
#include "column_importer.hpp"

#include "adopt.hpp"
#include "convert_host.hpp"
#include "layouts.hpp"
#include "sanitize.hpp"
#include "validate.hpp"

#include <cudf/utilities/error.hpp>
#include <cudf/utilities/traits.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

constexpr std::int64_t word_bits = 32;  ///< of libcudf's `bitmask_type`

/// libcudf gives all columns of a struct one offset, so one mask among them concerns all.
bool has_mask_in_struct(parsed_tree const& types, ArrowArray const& array)
{
  if (has_mask(array)) { return true; }
  if (types.type.layout != array_layout::validity) { return false; }
  for (std::size_t i = 0; i < types.children.size(); ++i) {
    if (has_mask_in_struct(types.children[i], *array.children[i])) { return true; }
  }
  return false;
}

/// Rows before the ones that arrived are kept only where nothing is looked up for them.
bool looks_up_rows(parsed_tree const& types, ArrowArray const& array)
{
  if (array.dictionary != nullptr) { return may_have_null_keys(types, array); }
  switch (types.type.layout) {
    case array_layout::views:
    case array_layout::list_views32:
    case array_layout::list_views64:
    case array_layout::runs: return true;
    case array_layout::validity:
    case array_layout::fixed_lists: break;
    default: return false;
  }
  for (std::size_t i = 0; i < types.children.size(); ++i) {
    if (looks_up_rows(types.children[i], *array.children[i])) { return true; }
  }
  return false;
}

/// Nobody promises anything of the rows before a slice; strings and lists among them are kept only
/// if their offsets are like others. What a device has there is not looked at.
bool has_sound_offsets(parsed_tree const& types, ArrowArray const& array, level_rows rows)
{
  auto const& type = types.type;
  switch (type.layout) {
    case array_layout::string32:
    case array_layout::string64:
    case array_layout::offsets32:
    case array_layout::offsets64: {
      auto before = std::int64_t{0};
      for (auto row = rows.begin; row <= rows.begin + rows.size; ++row) {
        auto const offset = host::read_integer(
          static_cast<std::byte const*>(array.buffers[1]) + row * offset_width(type.layout),
          offset_width(type.layout));
        if (offset < before) { return false; }
        before = offset;
      }
      return true;
    }
    case array_layout::validity:
    case array_layout::fixed_lists: break;
    default: return true;
  }
  for (std::size_t i = 0; i < types.children.size(); ++i) {
    auto const& child = *array.children[i];
    if (!has_sound_offsets(types.children[i], child, rows_of_child(type, array, rows, child))) {
      return false;
    }
  }
  return true;
}

/**
 * @brief Chooses the rows to keep before the ones that arrived.
 *
 * libcudf reads masks in aligned words. A mask can be adopted from any word on, so the rows
 * between the start of the word and the first row that arrived are taken along; without a mask
 * every pointer moves freely and nothing is.
 */
row_range choose_rows(parsed_tree const& types,
                      ArrowArray const& array,
                      std::int64_t begin,
                      std::int64_t size,
                      placement const& where)
{
  auto const first = array.offset + begin;
  auto const skew  = first % word_bits;
  auto const fits  = size + skew < std::numeric_limits<cudf::size_type>::max();
  auto const keep  = size > 0 && fits && has_mask_in_struct(types, array) &&
                     !looks_up_rows(types, array) &&
                     (!where.host || has_sound_offsets(types, array, {first - skew, skew}));
  return {first, size, keep ? skew : 0};
}

mask_range find_mask(ArrowArray const& array, row_range const& rows, placement const& where)
{
  if (!has_mask(array) || rows.size == 0) { return {}; }
  auto const whole      = rows.begin == array.offset && rows.size == array.length;
  auto const* bits      = array.buffers[0];
  auto const null_count = whole && array.null_count > 0
                            ? static_cast<cudf::size_type>(array.null_count)
                            : count_nulls({bits, rows.begin, rows.size}, where);
  if (null_count == 0) { return {}; }
  return {{bits, rows.storage_begin(), rows.storage_size()}, null_count};
}

mask_buffer import_mask(column_importer const& importer, import_level const& level)
{
  auto const found = find_mask(level.array, level.rows, importer.where());
  if (found.null_count == 0) { return {importer.no_buffer(), 0}; }
  return {found.is_on_word() ? importer.take(found.first(), bytes_for_bits(found.bits.size))
                             : copy_bits(found.bits, importer.where()),
          found.null_count};
}

/// CPUs and Arrow's own producers make do with 8 bytes even for decimals of 16.
bool is_aligned(void const* memory, std::int64_t width, placement const& where)
{
  auto const alignment =
    static_cast<std::uintptr_t>(where.host ? std::min<std::int64_t>(width, 8) : width);
  return reinterpret_cast<std::uintptr_t>(memory) % alignment == 0;
}

column_parts import_fixed(column_importer const& importer,
                          import_level const& level,
                          row_mask const& mask)
{
  switch (level.type().column.id()) {
    case cudf::type_id::LIST: return import_fixed_size_binary(importer, level);
    case cudf::type_id::DICTIONARY32: return import_dictionary(importer, level, mask);
    default: return import_values(importer, level);
  }
}

column_parts import_parts(column_importer const& importer,
                          import_level const& level,
                          row_mask const& mask)
{
  switch (level.type().layout) {
    case array_layout::null: return {importer.no_buffer(), {}};
    case array_layout::fixed: return import_fixed(importer, level, mask);
    case array_layout::offsets32:
    case array_layout::offsets64: return import_lists(importer, level);
    case array_layout::string32:
    case array_layout::string64:
      return level.type().column.id() == cudf::type_id::LIST ? import_binary(importer, level)
                                                             : import_strings(importer, level);
    case array_layout::validity: return import_fields(importer, level);
    case array_layout::fixed_lists: return import_fixed_size_lists(importer, level);
    case array_layout::views:
      return level.type().column.id() == cudf::type_id::LIST
               ? import_binary_views(importer, level, mask)
               : import_string_views(importer, level, mask);
    case array_layout::list_views32:
    case array_layout::list_views64: return import_list_views(importer, level, mask);
    case array_layout::runs: return import_runs(importer, level);
  }
  throw cudf::logic_error{"no such layout"};
}

/// Whether libcudf reads the producer's own buffers, alignment aside.
bool can_be_borrowed(parsed_type const& type)
{
  if (type.row->on_import != crossing::zero_copy) { return false; }
  switch (type.layout) {
    case array_layout::fixed: return cudf::is_fixed_width(type.column);
    case array_layout::string32:
    case array_layout::string64: return type.column.id() == cudf::type_id::STRING;
    default: return false;
  }
}

bool borrow_values(import_level const& level, placement const& where, borrowed_column& result)
{
  auto const width = level.type().element_bits / 8;
  result.data =
    static_cast<std::byte const*>(level.array.buffers[1]) + level.rows.storage_begin() * width;
  result.data_size = level.rows.storage_size() * width;
  return is_aligned(result.data, width, where);
}

bool borrow_strings(import_level const& level, placement const& where, borrowed_column& result)
{
  auto const width = offset_width(level.type().layout);
  auto const end   = level.rows.storage_begin() + level.rows.storage_size();
  result.offsets =
    static_cast<std::byte const*>(level.array.buffers[1]) + level.rows.storage_begin() * width;
  result.offsets_size = (level.rows.storage_size() + 1) * width;
  result.offsets_type = cudf::data_type{width == 8 ? cudf::type_id::INT64 : cudf::type_id::INT32};
  if (!is_aligned(result.offsets, width, where)) { return false; }
  result.data_size = read_offset(level.array.buffers[1], end, width, where.host, where.stream);
  check_string_data(result.data_size, level.array.buffers[2], level.path);
  result.data = level.array.buffers[2];
  return true;
}

/// All that is borrowed, rows before the first one that arrived included.
cudf::column_view storage_of(borrowed_column const& borrowed)
{
  auto const rows = borrowed.view();
  return {rows.type(),
          rows.offset() + rows.size(),
          rows.head<void>(),
          rows.null_mask(),
          rows.null_count(),
          0,
          {rows.child_begin(), rows.child_end()}};
}

}  // namespace

std::unique_ptr<cudf::column> column_importer::column(import_level const& level) const
{
  auto const size = level.rows.num_rows();
  check_rows(level.rows.storage_size(), level.path);
  if (level.type().layout == array_layout::null) {
    return std::make_unique<cudf::column>(
      level.type().column, size, no_buffer(), no_buffer(), size);
  }
  auto masked = import_mask(*this, level);
  auto parts  = import_parts(*this, level, {masked.mask.data(), masked.null_count});
  if (parts.mask) { masked = std::move(*parts.mask); }
  return std::make_unique<cudf::column>(level.type().column,
                                        size,
                                        std::move(parts.data),
                                        std::move(masked.mask),
                                        masked.null_count,
                                        std::move(parts.children));
}

rmm::device_buffer column_importer::take(void const* memory, std::int64_t size) const
{ return adopt(share_.copy(), memory, size, where_.stream, where_.mr); }

rmm::device_buffer column_importer::take_aligned(void const* memory,
                                                 std::int64_t size,
                                                 std::int64_t width) const
{
  return is_aligned(memory, width, where_) ? take(memory, size) : copy_bytes(memory, size, where_);
}

std::unique_ptr<cudf::column> column_importer::flat_column(cudf::type_id type,
                                                           std::int64_t size,
                                                           rmm::device_buffer&& data) const
{
  return std::make_unique<cudf::column>(
    cudf::data_type{type}, static_cast<cudf::size_type>(size), std::move(data), no_buffer(), 0);
}

bool has_mask(ArrowArray const& array)
{ return array.n_buffers > 0 && array.buffers[0] != nullptr && array.null_count != 0; }

imported_column import_rows(parsed_tree const& types,
                            ArrowArray const& array,
                            std::int64_t begin,
                            std::int64_t size,
                            foreign_share const& share,
                            placement const& where,
                            column_path const& path)
{
  auto const rows = choose_rows(types, array, begin, size, where);
  return {column_importer{share, where}.column({types, array, rows, path}),
          static_cast<cudf::size_type>(rows.skew),
          static_cast<cudf::size_type>(rows.size)};
}

std::optional<borrowed_column> borrow_rows(parsed_tree const& types,
                                           ArrowArray const& array,
                                           std::int64_t begin,
                                           std::int64_t size,
                                           placement const& where,
                                           bool sanitize,
                                           column_path const& path)
{
  if (size == 0 || !can_be_borrowed(types.type)) { return {}; }
  auto const rows = choose_rows(types, array, begin, size, where);
  check_rows(rows.storage_size(), path);
  auto const mask = find_mask(array, rows, where);
  if (!mask.is_on_word()) { return {}; }
  auto result        = borrowed_column{};
  result.type        = types.type.column;
  result.offset      = static_cast<cudf::size_type>(rows.skew);
  result.size        = static_cast<cudf::size_type>(rows.size);
  result.null_count  = mask.null_count;
  result.mask        = mask.first();
  result.mask_size   = bytes_for_bits(mask.bits.size);
  auto const level   = import_level{types, array, rows, path};
  auto const strings = types.type.layout != array_layout::fixed;
  if (!(strings ? borrow_strings(level, where, result) : borrow_values(level, where, result))) {
    return {};
  }
  if (sanitize && strings && needs_emptying(storage_of(result), where)) { return {}; }
  return result;
}

}  // namespace cudf_arrow_bridge::detail
