// SPDX-License-Identifier: Apache-2.0
#include "base/errors.hpp"
#include "base/parsed_type.hpp"
#include "base/utf8.hpp"
#include "compute/arrow_views.hpp"
#include "compute/bits.hpp"
#include "compute/host_access.hpp"
#include "validate/validate.hpp"

#include <cstring>
#include <string>
#include <string_view>

namespace cudf_arrow_bridge::detail {
namespace {

using host::bit_at;
using host::read_integer;

/// Checks one level of a tree of arrays.
class level_checker {
 public:
  level_checker(parsed_tree const& types,
                ArrowArray const& array,
                level_rows rows,
                column_path const& path)
    : types_{types}, array_{array}, rows_{rows}, path_{path}
  {
  }

  /// Checks the first and the last offset. List elements and bytes of strings must exist.
  void check_ends() const
  {
    auto const layout = types_.type.layout;
    if (!has_offsets(layout) || rows_.size == 0) { return; }
    auto const width = offset_width(layout);
    detail::check_ends(layout, array_, number(1, 0, width), number(1, rows_.size, width), path_);
  }

  void check_all_rows() const
  {
    check_null_count();
    if (rows_.size == 0) { return; }
    switch (types_.type.layout) {
      case array_layout::string32:
      case array_layout::string64: check_strings(); break;
      case array_layout::offsets32:
      case array_layout::offsets64: check_offsets(); break;
      case array_layout::views: check_views(); break;
      case array_layout::list_views32:
      case array_layout::list_views64: check_list_views(); break;
      case array_layout::runs: check_runs(); break;
      default: break;
    }
    if (array_.dictionary != nullptr) { check_indices(); }
  }

 private:
  [[noreturn]] void fail_row(std::int64_t row, std::string const& what) const
  { fail_invalid(path_, "row " + std::to_string(row) + ": " + what); }

  [[nodiscard]] bool is_text() const { return types_.type.column.id() == cudf::type_id::STRING; }

  [[nodiscard]] bool is_null(std::int64_t row) const
  {
    return array_.n_buffers > 0 && array_.buffers[0] != nullptr && array_.null_count != 0 &&
           !bit_at(array_.buffers[0], rows_.begin + row);
  }

  /// The integer of `width` bytes for a row; for offsets, `row` may be one past the last row.
  [[nodiscard]] std::int64_t number(int buffer, std::int64_t row, std::int64_t width) const
  { return read_integer(address(buffer, row, width), width); }

  [[nodiscard]] void const* address(int buffer, std::int64_t row, std::int64_t width) const
  { return static_cast<std::byte const*>(array_.buffers[buffer]) + (rows_.begin + row) * width; }

  /// Checks all rows, also those that no parent refers to.
  void check_null_count() const
  {
    if (array_.null_count < 0 || num_buffers(types_.type.layout) == 0) { return; }
    auto const* mask = array_.buffers[0];
    auto const nulls =
      mask == nullptr ? 0 : host::count_zeros({mask, array_.offset, array_.length});
    if (nulls != array_.null_count) {
      fail_invalid(path_,
                   "expected a null count of " + std::to_string(nulls) + ", got " +
                     std::to_string(array_.null_count));
    }
  }

  void check_text(std::span<std::byte const> bytes, std::int64_t row) const
  {
    if (!is_utf8({reinterpret_cast<char const*>(bytes.data()), bytes.size()})) {
      fail_row(row, "the string is not UTF-8");
    }
  }

  void check_offsets() const
  {
    auto const width = offset_width(types_.type.layout);
    auto previous    = number(1, 0, width);
    for (std::int64_t row = 0; row < rows_.size; ++row) {
      auto const end = number(1, row + 1, width);
      if (end < previous) {
        fail_row(row,
                 "expected ascending offsets, got " + std::to_string(previous) + " to " +
                   std::to_string(end));
      }
      previous = end;
    }
  }

  void check_strings() const
  {
    check_offsets();
    if (!is_text()) { return; }
    auto const width = offset_width(types_.type.layout);
    auto const* data = static_cast<std::byte const*>(array_.buffers[2]);
    for (std::int64_t row = 0; row < rows_.size; ++row) {
      if (is_null(row)) { continue; }
      auto const begin = number(1, row, width);
      check_text({data + begin, static_cast<std::size_t>(number(1, row + 1, width) - begin)}, row);
    }
  }

  void check_views() const
  {
    auto const num_data = static_cast<std::size_t>(array_.n_buffers - 3);
    auto const views    = view_rows{array_.buffers[1],
                                    rows_.begin,
                                    static_cast<cudf::size_type>(rows_.size),
                                    {nullptr, 0},
                                    {array_.buffers + 2, num_data},
                                    array_.buffers[array_.n_buffers - 1]};
    for (std::int64_t row = 0; row < rows_.size; ++row) {
      if (is_null(row)) { continue; }
      auto const bytes = host::bytes_of_view(views, row, path_);
      if (!host::has_prefix(views, row, bytes)) {
        fail_row(row, "the prefix of the view is not that of its data");
      }
      if (is_text()) { check_text(bytes, row); }
    }
  }

  void check_list_views() const
  {
    auto const views = list_view_rows{array_.buffers[1],
                                      array_.buffers[2],
                                      offset_width(types_.type.layout),
                                      rows_.begin,
                                      static_cast<cudf::size_type>(rows_.size),
                                      {nullptr, 0},
                                      array_.children[0]->length};
    for (std::int64_t row = 0; row < rows_.size; ++row) {
      if (!is_null(row)) { (void)host::elements_of_view(views, row, path_); }
    }
  }

  void check_runs() const
  {
    auto const& ends  = *array_.children[0];
    auto const width  = types_.children[0].type.element_bits / 8;
    auto const* first = static_cast<std::byte const*>(ends.buffers[1]) + ends.offset * width;
    auto previous     = std::int64_t{0};
    for (std::int64_t run = 0; run < ends.length; ++run) {
      auto const end = read_integer(first + run * width, width);
      if (end <= previous) {
        // Unsigned, because the end before can be the greatest integer.
        auto const least = static_cast<std::uint64_t>(previous) + 1;
        fail_invalid(path_,
                     "run " + std::to_string(run) + ": expected a run end of at least " +
                       std::to_string(least) + ", got " + std::to_string(end));
      }
      previous = end;
    }
    if (auto const rows = rows_.begin + rows_.size; previous < rows) {
      fail_invalid(path_,
                   "expected a last run end of at least " + std::to_string(rows) + ", got " +
                     std::to_string(previous));
    }
  }

  void check_indices() const
  {
    auto const width       = types_.type.element_bits / 8;
    auto const is_unsigned = index_type(*types_.schema) >= cudf::type_id::UINT8;
    auto const count       = array_.dictionary->length;
    for (std::int64_t row = 0; row < rows_.size; ++row) {
      if (is_null(row)) { continue; }
      (void)host::read_index(
        address(1, row, width), width, is_unsigned, count, [&](auto const& what) {
          fail_row(row, what);
        });
    }
  }

  parsed_tree const& types_;
  ArrowArray const& array_;
  level_rows rows_;
  column_path const& path_;
};

void check_levels(parsed_tree const& types,
                  ArrowArray const& array,
                  level_rows rows,
                  bool all_rows,
                  bool with_values,
                  column_path const& path)
{
  auto const checker = level_checker{types, array, rows, path};
  checker.check_ends();
  if (all_rows) { checker.check_all_rows(); }
  auto const& type = types.type;
  for (std::int64_t i = 0; i < array.n_children; ++i) {
    auto const& child_types = types.children[static_cast<std::size_t>(i)];
    auto const& child       = *array.children[i];
    auto const child_path   = column_path{path, name_of_child(*types.schema, i)};
    auto const child_rows   = rows_of_child(type, array, rows, child);
    check_levels(child_types, child, child_rows, all_rows, with_values, child_path);
  }
  if (array.dictionary != nullptr && with_values) {
    validate_contents(types.children[0], *array.dictionary, all_rows, true, path);
  }
}

}  // namespace

level_rows rows_of_child(parsed_type const& type,
                         ArrowArray const& parent,
                         level_rows rows,
                         ArrowArray const& child)
{
  switch (type.layout) {
    case array_layout::validity: return {child.offset + rows.begin, rows.size};
    case array_layout::fixed_lists:
      return {child.offset + rows.begin * type.list_size, rows.size * type.list_size};
    case array_layout::offsets32:
    case array_layout::offsets64: {
      // All elements that fit a column may be imported.
      if (child.length <= max_rows) { return {child.offset, child.length}; }
      if (rows.size == 0) { return {child.offset, 0}; }
      auto const width  = offset_width(type.layout);
      auto const* first = static_cast<std::byte const*>(parent.buffers[1]) + rows.begin * width;
      auto const begin  = read_integer(first, width);
      auto const end    = read_integer(first + rows.size * width, width);
      return {child.offset + begin, end - begin};
    }
    default: return {child.offset, child.length};
  }
}

void validate_contents(parsed_tree const& types,
                       ArrowArray const& array,
                       bool all_rows,
                       bool with_values,
                       column_path const& path)
{ check_levels(types, array, {array.offset, array.length}, all_rows, with_values, path); }

}  // namespace cudf_arrow_bridge::detail
