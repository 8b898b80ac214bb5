// SPDX-License-Identifier: Apache-2.0

#include "base/errors.hpp"
#include "base/structure.hpp"
#include "base/utf8.hpp"
#include "compute/host_access.hpp"
#include "compute/views.hpp"
#include "validate/validate.hpp"

#include <nanoarrow/nanoarrow.hpp>

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

  void check() const
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
    if (array_.null_count <= 0 || num_buffers(types_.type.layout) == 0) { return; }
    auto nulls = std::int64_t{0};
    if (auto const* mask = array_.buffers[0]; mask != nullptr) {
      auto const end = array_.offset + array_.length;
      for (auto row = array_.offset; row < end; ++row) { nulls += bit_at(mask, row) ? 0 : 1; }
    }
    if (nulls != array_.null_count) {
      fail_invalid(path_,
                   "expected a null count of " + std::to_string(nulls) + ", got " +
                     std::to_string(array_.null_count));
    }
  }

  void check_text(std::span<std::byte const> bytes, std::int64_t row) const
  {
    if (!is_utf8({reinterpret_cast<char const*>(bytes.data()), bytes.size()})) {
      fail_row(row, "expected a string in UTF-8, got other bytes");
    }
  }

  void check_offsets() const
  {
    auto const width = offset_width(types_.type.layout);
    auto previous    = number(1, 0, width);
    for (std::int64_t row = 0; row < rows_.size; ++row) {
      auto const end = number(1, row + 1, width);
      if (previous < 0) {
        fail_row(row, "expected an offset of at least 0, got " + std::to_string(previous));
      }
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
        fail_row(row, "expected a view with the prefix of its data, got another prefix");
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

  /// nanoarrow checks the run ends. The view has only the required parts of the children: run ends
  /// without a mask, because `validate` has rejected nulls, and as many values as runs, because
  /// more are unused.
  void check_runs() const
  {
    auto const& ends = *array_.children[0];
    auto view        = nanoarrow::UniqueArrayView{};
    ArrowArrayViewInitFromType(view.get(), NANOARROW_TYPE_RUN_END_ENCODED);
    check_nanoarrow(ArrowArrayViewAllocateChildren(view.get(), 2), "run ends");
    auto& ends_view = *view->children[0];
    ArrowArrayViewInitFromType(&ends_view, run_end_type());
    ends_view.buffer_views[1] = {{ends.buffers[1]}, -1};  // -1: the size is unknown
    ends_view.offset          = ends.offset;
    ends_view.length          = ends.length;
    view->children[1]->length = ends.length;
    view->offset              = rows_.begin;
    view->length              = rows_.size;
    auto error                = ArrowError{};
    if (ArrowArrayViewValidate(view.get(), NANOARROW_VALIDATION_LEVEL_FULL, &error) !=
        NANOARROW_OK) {
      fail_invalid(path_, ArrowErrorMessage(&error));
    }
  }

  [[nodiscard]] ArrowType run_end_type() const
  {
    switch (types_.children[0].type.column.id()) {
      case cudf::type_id::INT16: return NANOARROW_TYPE_INT16;
      case cudf::type_id::INT32: return NANOARROW_TYPE_INT32;
      default: return NANOARROW_TYPE_INT64;
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

void check_values_of(parsed_tree const& types,
                     ArrowArray const& array,
                     level_rows rows,
                     column_path const& path)
{
  level_checker{types, array, rows, path}.check();
  auto const& type = types.type;
  for (std::int64_t i = 0; i < array.n_children; ++i) {
    auto const& child_types = types.children[static_cast<std::size_t>(i)];
    auto const& child       = *array.children[i];
    auto const child_path   = column_path{path, name_of_child(*types.schema, i)};
    auto const child_rows   = rows_of_child(type, array, rows, child);
    check_values_of(child_types, child, child_rows, child_path);
  }
  if (array.dictionary != nullptr) {
    auto const& values = *array.dictionary;
    check_values_of(types.children[0], values, {values.offset, values.length}, path);
  }
}

}  // namespace

void validate_values(parsed_tree const& types, ArrowArray const& array, column_path const& path)
{ check_values_of(types, array, {array.offset, array.length}, path); }

}  // namespace cudf_arrow_bridge::detail
