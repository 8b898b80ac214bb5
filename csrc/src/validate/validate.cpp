// SPDX-License-Identifier: Apache-2.0
#include "validate/validate.hpp"

#include "base/parsed_type.hpp"
#include "base/utf8.hpp"

#include <cudf/types.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

namespace cudf_arrow_bridge::detail {
namespace {

/// The maximum depth of nesting: more than real schemas have, and safe for recursion.
constexpr int max_depth = 64;

void check_texts(ArrowSchema const& schema, column_path const& path)
{
  if (schema.format == nullptr) { fail_invalid(path, "the schema has no format string"); }
  if (!is_utf8(schema.format)) { fail_invalid(path, "the format string is not UTF-8"); }
  if (schema.name != nullptr && !is_utf8(schema.name)) {
    fail_invalid(path, "the name is not UTF-8");
  }
}

void check_metadata(char const* metadata, column_path const& path)
{
  if (metadata == nullptr) { return; }
  // Sizes are in native byte order and not aligned. The total size is not stored, so there is
  // nothing to check it against.
  auto const read_size = [&] {
    auto size = std::int32_t{0};
    std::memcpy(&size, metadata, sizeof(size));
    if (size < 0) {
      fail_invalid(path, "the metadata has a negative size: " + std::to_string(size));
    }
    metadata += sizeof(size);
    return size;
  };
  for (auto left = std::int64_t{read_size()} * 2; left > 0; --left) { metadata += read_size(); }
}

class traversal {
 public:
  void check(ArrowSchema const& schema, column_path const& path, int depth)
  {
    if (depth > max_depth) {
      fail_invalid(path, "the schema has more than " + std::to_string(max_depth) + " levels");
    }
    if (--levels_left_ < 0) { fail_too_many(path); }
    check_texts(schema, path);
    check_metadata(schema.metadata, path);
    check_children(schema, path, depth);
    if (schema.dictionary != nullptr) {
      if (schema.dictionary->release == nullptr) { fail_released(path); }
      check(*schema.dictionary, path, depth + 1);
    }
  }

 private:
  [[noreturn]] static void fail_released(column_path const& path)
  { fail_invalid(path, "the schema of a child is released"); }

  [[noreturn]] static void fail_too_many(column_path const& path)
  {
    fail_invalid(path,
                 "the schema has more than " + std::to_string(max_levels) + " columns in all");
  }

  void check_children(ArrowSchema const& schema, column_path const& path, int depth)
  {
    if (schema.n_children < 0) {
      fail_invalid(path, "n_children is negative: " + std::to_string(schema.n_children));
    }
    if (schema.n_children > 0 && schema.children == nullptr) {
      fail_invalid(path,
                   "the pointer to the " + std::to_string(schema.n_children) +
                     " children of the schema is null");
    }
    // Checked before reading the first pointer: `n_children` may exceed what was allocated.
    if (schema.n_children > levels_left_) { fail_too_many(path); }
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
      auto const* child = schema.children[i];
      if (child == nullptr) {
        fail_invalid(path, "the schema of child " + std::to_string(i) + " is null");
      }
      // The name of a released schema is freed, so the error names the parent.
      if (child->release == nullptr) { fail_released(path); }
      check(*child, column_path{path, name_of_child(schema, i)}, depth + 1);
    }
  }

  std::int64_t levels_left_{max_levels};
};

}  // namespace

void check_traversable(ArrowSchema const& schema, column_path const& path)
{
  if (schema.release == nullptr) { fail_invalid(path, "the schema is released"); }
  traversal{}.check(schema, path, 0);
}

namespace {

/// Views refer to data buffers by a 32-bit index.
constexpr std::int64_t max_data_buffers = std::numeric_limits<std::int32_t>::max();

/// The maximum of offset plus length of an array. Beyond it, positions in bytes overflow 64 bits.
constexpr std::int64_t max_end = std::numeric_limits<std::int64_t>::max() / 32;

parsed_type supported_type(ArrowSchema const& schema, column_path const& path)
{
  auto const type = [&] {
    try {
      return parse_type(schema);
    } catch (std::invalid_argument const& error) {
      fail_invalid(path, error.what());
    }
  }();
  if (type.row->on_import == type_support::unsupported) {
    auto message = "the Arrow type '" + std::string{type.row->arrow} + "' is not supported";
    if (!type.row->note.empty()) { message += ": " + std::string{type.row->note}; }
    fail<cudf::data_type_error>(path, message);
  }
  return type;
}

void check_sizes(parsed_type const& type, ArrowArray const& array, column_path const& path)
{
  if (array.length < 0) {
    fail_invalid(path, "the length is negative: " + std::to_string(array.length));
  }
  if (array.offset < 0) {
    fail_invalid(path, "the offset is negative: " + std::to_string(array.offset));
  }
  // Positions in bytes must fit 64 bits.
  auto const width = type.layout == array_layout::fixed ? type.element_bits / 8 : 0;
  auto const most  = max_end / std::max((width + 31) / 32, std::int64_t{1});
  if (array.offset > most - array.length) {
    fail_invalid(path,
                 "the rows do not fit into an address space: offset " +
                   std::to_string(array.offset) + ", length " + std::to_string(array.length));
  }
  if (array.null_count < -1 || array.null_count > array.length) {
    fail_invalid(path,
                 "expected a null count of -1 to " + std::to_string(array.length) + ", got " +
                   std::to_string(array.null_count));
  }
}

/// Checks that a child of a struct or fixed-size list has all rows that the parent refers to.
void check_child_rows(parsed_type const& type,
                      ArrowArray const& array,
                      ArrowArray const& child,
                      column_path const& path)
{
  if (type.layout != array_layout::validity && type.layout != array_layout::fixed_lists) { return; }
  auto const rows         = array.offset + array.length;
  auto const rows_per_row = type.layout == array_layout::fixed_lists ? type.list_size : 1;
  if (rows_per_row > 0 && child.length / rows_per_row < rows) {
    fail_invalid(path,
                 "expected at least " + std::to_string(rows) +
                   (rows_per_row == 1 ? "" : " times " + std::to_string(rows_per_row)) +
                   " rows by the " + (type.layout == array_layout::validity ? "struct" : "list") +
                   ", got " + std::to_string(child.length));
  }
}

void check_buffers(parsed_type const& type, ArrowArray const& array, column_path const& path)
{
  auto const expected = num_buffers(type.layout);
  // polars exports arrays of nulls with a validity buffer, as other types have, that is a null
  // pointer.
  if (type.layout == array_layout::null && array.n_buffers == 1 && array.buffers != nullptr &&
      array.buffers[0] == nullptr) {
    return;
  }
  auto const is_views = type.layout == array_layout::views;
  if (is_views ? array.n_buffers < expected || array.n_buffers > expected + max_data_buffers
               : array.n_buffers != expected) {
    fail_invalid(path,
                 std::string{is_views ? "expected at least " : "expected "} +
                   std::to_string(expected) + " buffers, got " + std::to_string(array.n_buffers));
  }
  if (expected == 0) { return; }
  if (array.buffers == nullptr) { fail_invalid(path, "the pointer to the buffers is null"); }
  if (array.null_count > 0 && array.buffers[0] == nullptr) {
    fail_invalid(
      path,
      "the validity buffer is null, and the null count is " + std::to_string(array.null_count));
  }
  // Buffer 1 holds data or offsets. Buffer 2, the data of strings, may be null if all are empty.
  auto const is_without_data = type.layout == array_layout::fixed && type.element_bits == 0;
  if (expected > 1 && array.length > 0 && array.buffers[1] == nullptr && !is_without_data) {
    fail_invalid(path,
                 "buffer 1 is null, and the array has " + std::to_string(array.length) + " rows");
  }
  auto const is_list_views =
    type.layout == array_layout::list_views32 || type.layout == array_layout::list_views64;
  if (is_list_views && array.length > 0 && array.buffers[2] == nullptr) {
    fail_invalid(path, "the buffer of sizes of the list views is null");
  }
  if (array.n_buffers > expected && array.buffers[array.n_buffers - 1] == nullptr) {
    fail_invalid(path, "the buffer of the sizes of data buffers is null");
  }
}

/// Checks that run ends are int16, 32 or 64. nanoarrow has checked the number of children.
void check_run_types(parsed_tree const& types, column_path const& path)
{
  auto const& ends = types.children[0].type;
  auto const id    = ends.column.id();  // also for run-end encoded integers
  auto const is_integer =
    id == cudf::type_id::INT16 || id == cudf::type_id::INT32 || id == cudf::type_id::INT64;
  if (ends.layout != array_layout::fixed || !is_integer) {
    fail_invalid(path,
                 "expected run ends of type int16, int32 or int64, got the Arrow type '" +
                   std::string{ends.row->arrow} + "'");
  }
}

/// Checks that a run-end encoded array with rows has runs, and that the type of the run ends can
/// hold the last row.
void check_runs(parsed_tree const& types, ArrowArray const& array, column_path const& path)
{
  auto const& ends       = *array.children[0];
  auto const& values     = *array.children[1];
  auto const type        = types.children[0].type.column.id();
  auto const max_run_end = type == cudf::type_id::INT16   ? std::numeric_limits<std::int16_t>::max()
                           : type == cudf::type_id::INT32 ? std::numeric_limits<std::int32_t>::max()
                                                          : max_end;
  if (array.null_count > 0) {
    fail_invalid(path,
                 "a run-end encoded array has no validity buffer, and its null count is " +
                   std::to_string(array.null_count));
  }
  if (ends.null_count > 0) { fail_invalid(path, "run ends are null"); }
  auto const last_row = array.offset + array.length;
  if (array.length > 0 && ends.length == 0) {
    fail_invalid(path, "there are " + std::to_string(last_row) + " rows and no runs");
  }
  if (array.length > 0 && last_row > max_run_end) {
    fail_invalid(path,
                 "expected run ends of a type that can hold " + std::to_string(last_row) +
                   ", got the Arrow type '" + std::string{types.children[0].type.row->arrow} + "'");
  }
  check_rows(ends.length, path);
  if (values.length < ends.length) {
    fail_invalid(path,
                 "expected at least " + std::to_string(ends.length) +
                   " values, one for each run, got " + std::to_string(values.length));
  }
}

parsed_tree parse_level(ArrowSchema const& schema, column_path const& path)
{
  auto result = parsed_tree{&schema, supported_type(schema, path), {}};
  result.children.reserve(static_cast<std::size_t>(schema.n_children) +
                          (schema.dictionary == nullptr ? 0 : 1));
  for (std::int64_t i = 0; i < schema.n_children; ++i) {
    auto const child_path = column_path{path, name_of_child(schema, i)};
    result.children.push_back(parse_level(*schema.children[i], child_path));
  }
  if (result.type.layout == array_layout::runs) {
    check_run_types(result, path);
    result.type.column = result.children[1].type.column;
  }
  if (schema.dictionary != nullptr) {
    result.children.push_back(parse_level(*schema.dictionary, path));
  }
  return result;
}

/// @param rows The number of rows of the column; 0 if it depends on offsets, which are not read
///   here
void check_tree(parsed_tree const& types,
                ArrowArray const& array,
                std::int64_t rows,
                column_path const& path)
{
  auto const& type = types.type;
  check_counterpart(*types.schema, array, path);
  check_sizes(type, array, path);
  check_rows(rows, path);
  check_buffers(type, array, path);

  auto const child_rows = type.layout == array_layout::validity ? rows : 0;
  for (std::int64_t i = 0; i < array.n_children; ++i) {
    auto const child_path = column_path{path, name_of_child(*types.schema, i)};
    auto const* child     = array.children[i];
    if (child == nullptr) { fail_invalid(child_path, "the pointer to the child is null"); }
    check_tree(types.children[static_cast<std::size_t>(i)], *child, child_rows, child_path);
    check_child_rows(type, array, *child, child_path);
  }
  if (type.layout == array_layout::runs) { check_runs(types, array, path); }
  if (array.dictionary != nullptr) {
    auto const& values = *array.dictionary;
    check_tree(types.children.back(), values, values.length, path);
  }
}

}  // namespace

void check_counterpart(ArrowSchema const& schema, ArrowArray const& array, column_path const& path)
{
  if (array.release == nullptr) { fail_invalid(path, "the array is released"); }
  if (array.n_children != schema.n_children) {
    fail_invalid(path,
                 "expected " + std::to_string(schema.n_children) + " children, got " +
                   std::to_string(array.n_children));
  }
  if (array.n_children > 0 && array.children == nullptr) {
    fail_invalid(path, "the pointer to the children is null");
  }
  if ((array.dictionary == nullptr) != (schema.dictionary == nullptr)) {
    fail_invalid(path,
                 array.dictionary == nullptr ? "the array has no dictionary"
                                             : "the array has a dictionary, and its type has none");
  }
}

void check_rows(std::int64_t rows, column_path const& path)
{
  if (rows > max_rows) { fail_too_many(path, rows, max_rows, "rows"); }
}

void check_offset_ends(std::int64_t first, std::int64_t last, column_path const& path)
{
  if (first < 0) { fail_invalid(path, "the first offset is negative: " + std::to_string(first)); }
  if (last < first) {
    fail_invalid(
      path,
      "expected ascending offsets, got " + std::to_string(first) + " to " + std::to_string(last));
  }
}

void check_string_data(std::int64_t size, void const* data, column_path const& path)
{
  if (size < 0) { fail_invalid(path, "the last offset is negative: " + std::to_string(size)); }
  if (size > 0 && data == nullptr) {
    fail_invalid(
      path, "the data buffer is null, and the offsets need " + std::to_string(size) + " bytes");
  }
}

void check_ends(array_layout layout,
                ArrowArray const& array,
                std::int64_t first,
                std::int64_t last,
                column_path const& path)
{
  check_offset_ends(first, last, path);
  if (!has_child_by_offsets(layout)) { return check_string_data(last, array.buffers[2], path); }
  if (auto const elements = array.children[0]->length; last > elements) {
    fail_invalid(path,
                 "expected at least " + std::to_string(last) +
                   " list elements by the offsets, got " + std::to_string(elements));
  }
}

parsed_tree parse_types(ArrowSchema const& schema, column_path const& path)
{
  check_traversable(schema, path);
  return parse_level(schema, path);
}

void validate(parsed_tree const& types, ArrowArray const& array, column_path const& path)
{ check_tree(types, array, array.length, path); }

}  // namespace cudf_arrow_bridge::detail

namespace cudf_arrow_bridge {

type_row const& import_row(ArrowSchema const& schema)
{
  detail::check_traversable(schema, column_path{});
  return *detail::parse_type(schema).row;
}

}  // namespace cudf_arrow_bridge
