// SPDX-License-Identifier: Apache-2.0
#include "testing/invariants/walker.hpp"
#include "testing/views.hpp"

namespace cudf_arrow_bridge::test {
namespace {

using cudf::type_id;

std::string entry(std::int64_t index, std::int64_t offset)
{ return "offset " + std::to_string(offset) + " at " + std::to_string(index); }

std::int64_t last_offset(cudf::column_view const& offsets)
{ return integer_at(offsets, offsets.size() - 1); }

}  // namespace

/// @return Whether the offsets can be read and are valid
bool walker::check_offsets(cudf::column_view const& column, std::string const& path)
{
  auto const offsets = column.child(0);
  auto const below   = path + ".offsets";
  auto const type    = offsets.type().id();
  auto const is_typed =
    type == type_id::INT32 || (type == type_id::INT64 && column.type().id() == type_id::STRING);
  if (!expect(is_typed,
              invariant::offsets_have_their_type,
              below,
              "type " + std::to_string(static_cast<int>(type)))) {
    return false;
  }
  expect(!offsets.has_nulls(),
         invariant::offsets_have_no_nulls,
         below,
         std::to_string(offsets.null_count()) + " nulls");
  expect(offsets.offset() == 0,
         invariant::offsets_begin_at_their_head,
         below,
         "offset " + std::to_string(offsets.offset()));
  visit(offsets, below);
  // Without rows, libcudf reads no offset, and there may be none.
  auto const end = end_of_rows(column);
  if (end == 0 && offsets.size() == 0) { return true; }
  if (!expect(offsets.size() > end,
              invariant::offsets_are_enough,
              below,
              std::to_string(offsets.size()) + " for " + std::to_string(end) + " rows")) {
    return false;
  }
  auto before = integer_at(offsets, column.offset());
  expect(column.offset() > 0 || before == 0,
         invariant::first_offset_is_zero,
         below,
         entry(column.offset(), before));
  if (!expect(before >= 0, invariant::offsets_ascend, below, entry(column.offset(), before))) {
    return false;
  }
  // Check offsets after the last row, too: `chars_size` reads the last one.
  for (auto row = std::int64_t{column.offset()} + 1; row < offsets.size(); ++row) {
    auto const offset = integer_at(offsets, row);
    if (!expect(offset >= before, invariant::offsets_ascend, below, entry(row, offset))) {
      return false;
    }
    before = offset;
  }
  return true;
}

void walker::check_empty_nulls(cudf::column_view const& column, std::string const& path)
{
  if (!options_.sanitized || column.null_mask() == nullptr) { return; }
  auto const offsets = column.child(0);
  for (auto row = std::int64_t{column.offset()}; row < end_of_rows(column); ++row) {
    auto const size = integer_at(offsets, row + 1) - integer_at(offsets, row);
    if (is_null_at(column, row) && !expect(size == 0,
                                           invariant::null_rows_are_empty,
                                           path,
                                           "size " + std::to_string(size) + " of null row " +
                                             std::to_string(row - column.offset()))) {
      return;
    }
  }
}

void walker::visit_strings(cudf::column_view const& column, std::string const& path)
{
  if (column.num_children() == 0 || !check_offsets(column, path)) { return; }
  auto const offsets = column.child(0);
  if (offsets.size() == 0) { return; }
  auto const size = last_offset(offsets);
  expect(size == 0 || (column.head<void>() != nullptr && is_allocated(column.head<void>(), size)),
         invariant::offsets_stay_within,
         path,
         "less than " + std::to_string(size) + " characters");
  check_empty_nulls(column, path);
}

void walker::visit_lists(cudf::column_view const& column, std::string const& path)
{
  auto const elements = column.child(1);
  expect(elements.offset() == 0,
         invariant::elements_begin_at_their_head,
         path + "[]",
         "offset " + std::to_string(elements.offset()));
  if (check_offsets(column, path)) {
    auto const offsets = column.child(0);
    auto const last    = offsets.size() == 0 ? 0 : last_offset(offsets);
    auto const found =
      std::to_string(elements.size()) + " elements for a last offset of " + std::to_string(last);
    auto const within =
      expect(last <= elements.size(), invariant::offsets_stay_within, path, found);
    // In this case `get_sliced_child` returns all elements without reading the offsets.
    auto const ends_with_rows = offsets.size() <= end_of_rows(column) + 1;
    expect(!within || !ends_with_rows || last == elements.size(),
           invariant::child_ends_with_offsets,
           path,
           found);
    check_empty_nulls(column, path);
  }
  visit(elements, path + "[]");
}

}  // namespace cudf_arrow_bridge::test
