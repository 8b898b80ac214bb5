// SPDX-License-Identifier: Apache-2.0
#include "testing/invariants/walker.hpp"
#include "testing/views.hpp"

#include <cudf/utilities/traits.hpp>

namespace cudf_arrow_bridge::test {
void walker::visit_fields(cudf::column_view const& column, std::string const& path)
{
  for (cudf::size_type i = 0; i < column.num_children(); ++i) {
    auto const field = column.child(i);
    auto const below = path + "." + std::to_string(i);
    expect(field.offset() == 0,
           invariant::fields_begin_at_their_head,
           below,
           "offset " + std::to_string(field.offset()));
    if (!expect(
          field.size() >= end_of_rows(column),
          invariant::fields_cover_the_struct,
          below,
          std::to_string(field.size()) + " rows below " + std::to_string(end_of_rows(column)))) {
      continue;
    }
    auto const nulls = count_nulls_in(field, field.offset(), end_of_rows(field));
    expect(field.null_count() == nulls,
           invariant::null_count_is_right,
           below,
           "a null count of " + std::to_string(field.null_count()) + " for " +
             std::to_string(nulls) + " nulls");
    for (auto row = std::int64_t{column.offset()};
         options_.sanitized && column.null_mask() != nullptr && row < end_of_rows(column);
         ++row) {
      if (!expect(!is_null_at(column, row) || is_null_at(field, row),
                  invariant::null_structs_have_null_fields,
                  below,
                  "a value in null row " + std::to_string(row - column.offset()))) {
        break;
      }
    }
    // Slice as `structs_column_view::get_sliced_child` does. Nulls were checked above.
    visit(slice(field, column.offset(), static_cast<cudf::size_type>(end_of_rows(column))), below);
  }
}

void walker::visit_dictionary(cudf::column_view const& column, std::string const& path)
{
  if (column.num_children() == 0) { return; }
  auto const indices    = column.child(0);
  auto const keys       = column.child(1);
  auto const below      = path + ".indices";
  auto const is_integer = cudf::is_index_type(indices.type()) && !cudf::is_unsigned(indices.type());
  visit(keys, path + ".keys");
  expect(!keys.has_nulls(),
         invariant::keys_have_no_nulls,
         path + ".keys",
         std::to_string(keys.null_count()) + " nulls");
  if (!expect(is_integer,
              invariant::indices_are_signed,
              below,
              "type " + std::to_string(static_cast<int>(indices.type().id())))) {
    return;
  }
  expect(!indices.has_nulls(),
         invariant::indices_have_no_nulls,
         below,
         std::to_string(indices.null_count()) + " nulls");
  expect(indices.offset() == 0,
         invariant::indices_begin_at_their_head,
         below,
         "offset " + std::to_string(indices.offset()));
  visit(indices, below);
  if (!expect(
        indices.size() >= end_of_rows(column),
        invariant::indices_cover_the_rows,
        below,
        std::to_string(indices.size()) + " for " + std::to_string(end_of_rows(column)) + " rows")) {
    return;
  }
  for (auto row = std::int64_t{column.offset()}; row < end_of_rows(column); ++row) {
    auto const index = !is_null_at(column, row) ? integer_at(indices, row) : 0;
    if (!expect(is_null_at(column, row) || (index >= 0 && index < keys.size()),
                invariant::indices_are_within_keys,
                below,
                std::to_string(index) + " for " + std::to_string(keys.size()) + " keys")) {
      return;
    }
  }
}

}  // namespace cudf_arrow_bridge::test
