// SPDX-License-Identifier: Apache-2.0
#include "base/child_column.hpp"
#include "compute/cast.hpp"
#include "compute/gather.hpp"
#include "compute/sanitize.hpp"
#include "export/array_builder.hpp"
#include "export/export_checks.hpp"

#include <cudf/lists/lists_column_view.hpp>
#include <cudf/strings/strings_column_view.hpp>

#include <algorithm>
#include <utility>

namespace cudf_arrow_bridge::detail {

namespace {

void check_bytes(std::int64_t size, column_path const& path)
{
  if (size > max_offset) {
    fail_too_many(path, size, max_offset, "bytes by the requested schema", "ask for large_string");
  }
}

std::int64_t width_of(cudf::column_view const& offsets)
{ return offsets.type().id() == cudf::type_id::INT64 ? 8 : 4; }

/// Offsets and the bytes they index: chars of STRING, or elements of LIST<UINT8>.
struct byte_data {
  cudf::column_view const* offsets;  ///< null for a string column without children (no rows)
  std::byte const* head;
};

/// Whether an element of LIST<UINT8> is null in a used row. Other rows are not read.
bool has_null_bytes(cudf::column_view const& column, column_rows const& rows, execution const& exec)
{
  auto const& element = child_of(column, cudf::lists_column_view::child_column_index);
  if (element.null_count() == 0 || rows.used_size == 0) { return false; }
  auto const& offsets = child_of(column, cudf::lists_column_view::offsets_column_index);
  auto const ends     = read_ends(
    offsets.begin<std::int32_t>() + rows.used_begin, rows.used_size, sizeof(std::int32_t), exec);
  auto const nulls =
    count_nulls({element.null_mask(), element.offset() + ends.first, ends.last - ends.first}, exec);
  if (nulls == 0) { return false; }
  // All null elements may be in null lists, or below a null struct.
  auto const checked = rows_to_check(column, rows, exec);
  if (checked.view.null_count() == 0) { return true; }
  auto const lists = empty_nulls(checked.view, exec.scratch());
  return lists->child(cudf::lists_column_view::child_column_index).null_count() > 0;
}

/// Checks that a LIST column has bytes as elements, which are not null.
void check_elements(cudf::column_view const& column,
                    column_rows const& rows,
                    column_path const& path,
                    execution const& exec)
{
  auto const& element = child_of(column, cudf::lists_column_view::child_column_index, path);
  if (element.type().id() != cudf::type_id::UINT8) {
    fail_invalid(path, "the schema has lists of bytes, and the column has lists of another type");
  }
  if (has_null_bytes(column, rows, exec)) {
    fail_invalid(path, "bytes are null, which a binary type cannot represent");
  }
}

byte_data bytes_of(cudf::column_view const& column,
                   column_rows const& rows,
                   column_path const& path,
                   execution const& exec)
{
  if (column.type().id() == cudf::type_id::LIST) {
    check_elements(column, rows, path, exec);
    auto const& element = child_of(column, cudf::lists_column_view::child_column_index);
    return {&child_of(column, cudf::lists_column_view::offsets_column_index, path),
            row_of(element, element.offset(), 8)};
  }
  auto const* offsets = column.num_children() > 0
                          ? &child_of(column, cudf::strings_column_view::offsets_column_index, path)
                          : nullptr;
  return {offsets, column.head<std::byte>()};
}

std::byte const* offset_address(cudf::column_view const& offsets, std::int64_t index)
{ return offsets.head<std::byte>() + (offsets.offset() + index) * width_of(offsets); }

/// The used rows of a LIST column, each of which is null or has the same number of elements.
struct sized_lists {
  offset_ends ends{0, 0};  ///< of their elements
  bool in_place{false};    ///< whether null rows also have that many elements
};

/**
 * @brief Checks that all lists have a size, unless they are null or below a null struct.
 *
 * Reads the first and last offset. If they are not sufficient, or the lists were not imported with
 * that size, reads all offsets. Waits for both on a device.
 *
 * @throws std::invalid_argument for lists of another size
 *
 * @param used Used rows of the column, at least one
 * @param step Whether the lists were imported with that size
 * @param unit "bytes" or "elements", for errors
 */
sized_lists check_list_sizes(cudf::column_view const& column,
                             column_rows const& used,
                             export_step const& step,
                             cudf::size_type size,
                             char const* unit,
                             column_path const& path,
                             execution const& exec)
{
  auto const& offsets = child_of(column, cudf::lists_column_view::offsets_column_index);
  auto const ends =
    read_ends(offsets.begin<std::int32_t>() + used.begin, used.size, sizeof(std::int32_t), exec);
  auto rows        = checked_rows{std::nullopt, view_of(column, used, exec)};
  auto const total = ends.last - ends.first;
  auto const all   = used.size * size;
  auto const valid = (used.size - rows.view.null_count()) * size;
  if (!step.trusted || (total != all && total != valid)) {
    auto fits = sizes_of_lists(rows.view, exec).is_only(size);
    if (!fits && used.outer != nullptr) {
      rows = rows_to_check(column, used, exec);
      fits = sizes_of_lists(rows.view, exec).is_only(size);
    }
    if (!fits) {
      fail_invalid(path,
                   "not all lists have " + std::to_string(size) + ' ' + unit +
                     ", the size in the " + (step.trusted ? "imported" : "requested") + " schema");
    }
  }
  auto in_place = rows.view.null_count() == 0;
  if (!in_place && total == all) {
    // With a null count of 0, null rows count as well: only offsets are read, and not the mask.
    auto every       = used;
    every.null_count = 0;
    in_place         = sizes_of_lists(view_of(column, every, exec), exec).is_only(size);
  }
  return {ends, in_place};
}

}  // namespace

/// Lists share their elements if every list, including null lists, has its own elements. If null
/// lists are empty, as in libcudf, the elements are gathered, with arbitrary elements for null
/// lists. Unused rows, mostly those before a slice, may be lists of any length; only used rows are
/// checked. A fixed-size binary array has the bytes of its elements.
void array_builder::fill_fixed_lists(array_node& node, export_level const& level)
{
  auto const& [column, rows, step, target, path] = level;

  auto const is_binary = node.layout == array_layout::fixed;
  auto const& offsets  = child_of(column, cudf::lists_column_view::offsets_column_index, path);
  auto const& element  = child_of(column, cudf::lists_column_view::child_column_index, path);
  auto const size      = is_binary ? step.element_bits / 8 : step.list_size;
  auto const count     = rows.size * size;
  node.per_row         = is_binary ? step.element_bits : size;
  if (is_binary) { check_elements(column, rows, path, exec_); }
  if (count > max_offset) {
    auto const* what = is_binary ? "bytes" : "list elements";
    fail_too_many(path, count, max_offset, what, "export fewer rows at a time");
  }
  auto used = used_rows(rows);
  // A non-nullable field may be null in rows in which its parent struct is null. `rows.null_count`
  // is 0 regardless.
  if (step.forbids_nulls()) { used.null_count = -1; }
  // The elements of unused rows do not matter.
  auto const begin = (used.begin - rows.begin) * size;
  auto elements    = column_rows{0, count, -1, begin, used.size * size};
  auto lists       = sized_lists{};
  if (used.size > 0) {
    checked_offsets(&offsets, rows.begin + rows.size, path);
    auto const* unit = is_binary ? "bytes" : "elements";
    lists =
      check_list_sizes(column, used, step, static_cast<cudf::size_type>(size), unit, path, exec_);
  }
  auto const& ends         = lists.ends;
  auto const fill_elements = [&](cudf::column_view const& source) {
    if (is_binary) {
      node.buffers[1] = row_of(source, elements.begin, 8);
      node.copied[1]  = in_copy_;
      return;
    }
    node.num_children = 1;
    node.first_child  = tree_.add_nodes(1);
    fill(node.first_child, source, elements, level_below(target, 0), column_path{path, "[]"});
  };
  auto const first = ends.first - begin;
  if (count == 0 || (lists.in_place && first >= 0 && first + count <= element.size())) {
    elements.begin = element.offset() + (count == 0 ? 0 : first);
    elements.used_begin += elements.begin;
    auto const known    = element.null_count() == 0 || count == element.size();
    elements.null_count = known ? element.null_count() : -1;
    return fill_elements(element);
  }
  if (used.size > 0) { copies_.need(copy_reason::lengths, path); }
  auto made = std::unique_ptr<cudf::column>{};
  if (ends.first == ends.last) {
    made               = null_rows_like(element, static_cast<cudf::size_type>(count), exec_);
    elements.used_size = 0;
  } else {
    auto const map      = rows_of_lists({offsets.begin<std::int32_t>() + rows.begin,
                                         static_cast<cudf::size_type>(rows.size),
                                         static_cast<cudf::size_type>(size),
                                         static_cast<cudf::size_type>(ends.first),
                                         static_cast<cudf::size_type>(ends.last - 1)},
                                        exec_.scratch());
    auto const map_rows = cudf::column_view{cudf::data_type{cudf::type_id::INT32},
                                            static_cast<cudf::size_type>(count),
                                            map.data(),
                                            nullptr,
                                            0};
    made                = gather_rows(element, map_rows, path, exec_);
  }
  elements.null_count = made->null_count();
  auto const outer    = std::exchange(in_copy_, copy_reason::lengths);
  auto const& kept    = *tree_.columns.emplace_back(std::move(made));
  fill_elements(kept.view());
  in_copy_ = outer;
}

/// @return Bytes to skip in the data buffer. It is not 0 if 64-bit offsets are narrowed and the
/// last one exceeds 32 bits: offsets {5'000'000'000, 5'000'000'003} are exported as {0, 3}, and
/// 5'000'000'000 is returned.
///
/// In Arrow an array without rows has one offset, which consumers expect to be 0. libcudf may have
/// no offsets buffer, and an empty slice may begin at another offset, so a zero is allocated.
std::int64_t array_builder::fill_offsets(array_node& node,
                                         cudf::column_view const* offsets,
                                         std::int64_t begin,
                                         column_path const& path)
{
  auto const size  = node.offset + node.length;
  auto const width = offset_width(node.layout);
  if (size == 0) {
    // 8 bytes are enough for both widths; a column without an offsets child has no width.
    set_copied(node, copy_reason::no_rows, zeros(8, exec_));
    return 0;
  }
  auto const& present = checked_offsets(offsets, begin + size, path);
  auto const* first   = offset_address(present, begin);
  if (width == width_of(present)) {
    node.buffers[1] = first;
    return 0;
  }
  if (width == 8) {
    set_converted(node, copy_reason::offset_width, path, [&] {
      auto const count = static_cast<cudf::size_type>(size + 1);
      return cast_values(first, count, cudf::type_id::INT32, cudf::type_id::INT64, exec_);
    });
    return 0;
  }
  copies_.need(copy_reason::offset_width, path);
  auto const ends = read_ends(first, size, 8, exec_);
  auto const base = ends.last > max_offset ? ends.first : 0;
  check_bytes(ends.last - base, path);
  set_copied(
    node,
    copy_reason::offset_width,
    rebase_offsets({first, size + 1, cudf::type_id::INT64}, base, cudf::type_id::INT32, exec_));
  return base;
}

void array_builder::fill_string(array_node& node, export_level const& level, std::int64_t begin)
{
  auto const bytes = bytes_of(level.column, level.rows, level.path, exec_);
  auto const skip  = fill_offsets(node, bytes.offsets, begin, level.path);
  node.buffers[2]  = bytes.head == nullptr ? nullptr : bytes.head + skip;
}

void array_builder::fill_views(array_node& node, export_level const& level, std::int64_t begin)
{
  if (!exec_.host) {
    fail_invalid(
      level.path,
      "the schema has views, which cannot be created in device memory: export to the host");
  }
  auto const bytes = bytes_of(level.column, level.rows, level.path, exec_);
  auto const size  = node.offset + node.length;
  auto strings     = byte_strings{};
  auto view_bytes  = std::int64_t{0};
  if (size > 0) {
    auto const& offsets = checked_offsets(bytes.offsets, begin + size, level.path);
    auto const* last    = offset_address(offsets, begin + size);
    view_bytes          = read_offset(last, 0, width_of(offsets), exec_.host, exec_.stream);
    check_bytes(view_bytes, level.path);
    strings = {offset_address(offsets, begin),
               width_of(offsets),
               bytes.head,
               node.buffers[0],
               static_cast<cudf::size_type>(size)};
  }
  set_converted(node, copy_reason::views, level.path, [&] { return make_views(strings, exec_); });
  node.buffers[2] = bytes.head;
  tree_.add_view_buffers(node, node.buffers.size() + 1);
  std::copy(node.buffers.begin(), node.buffers.end(), node.view_buffers);
  node.view_buffers[3] = keep(copy_bytes(&view_bytes, sizeof(view_bytes), exec_));
}

}  // namespace cudf_arrow_bridge::detail
