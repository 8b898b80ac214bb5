// SPDX-License-Identifier: Apache-2.0
#include "testing/invariants.hpp"

#include <array>
#include <cstddef>
#include <string>

namespace cudf_arrow_bridge::test {
namespace {

struct row {
  invariant which;
  char const* statement;
  char const* source;
};

constexpr auto table = std::to_array<row>({
  {invariant::rows_fit, "offset plus size fits size_type", "detail::slice, src/copying/slice.cu"},
  {invariant::null_count_is_right,
   "the null count is known and equals the number of unset bits of the mask",
   "column_view_base::has_nulls, include/cudf/column/column_view.hpp"},
  {invariant::mask_is_aligned,
   "the mask is aligned to bitmask_type",
   "bit_is_set, include/cudf/utilities/bit.hpp"},
  {invariant::mask_is_padded,
   "the mask is readable in blocks of 64 bytes if the column has no offset, otherwise in "
   "words",
   "detail::copy_bitmask, src/bitmask/null_mask.cu"},
  {invariant::data_is_aligned,
   "the data is aligned to its element type",
   "column_device_view::element, include/cudf/column/column_device_view.cuh"},
  {invariant::data_is_allocated,
   "the data of all rows lies in its allocation",
   "create_column_from_view, src/column/column.cu"},
  {invariant::children_are_there,
   "a list has offsets and elements, a string column has offsets, a dictionary has indices "
   "and keys, and other flat columns have no children",
   "lists_column_view::child, src/lists/lists_column_view.cu; strings_column_view::offsets, "
   "src/strings/strings_column_view.cpp; dictionary_column_view, "
   "src/dictionary/dictionary_column_view.cpp"},
  {invariant::offsets_have_their_type,
   "offsets are INT32; those of strings may be INT64",
   "lists_column_view::offsets_begin, include/cudf/lists/lists_column_view.hpp; "
   "get_offset_value, src/strings/utilities.cu"},
  {invariant::offsets_have_no_nulls,
   "offsets have no nulls",
   "make_lists_column, src/lists/lists_column_factories.cu; make_strings_column, "
   "src/strings/strings_column_factories.cu"},
  {invariant::offsets_begin_at_their_head,
   "the offsets column has no offset",
   "fused_concatenate_string_offset_kernel, src/strings/copying/concatenate.cu"},
  {invariant::offsets_are_enough,
   "there is one offset more than rows, including the rows before a slice",
   "lists_column_view::get_sliced_child, src/lists/lists_column_view.cu"},
  {invariant::first_offset_is_zero,
   "the first offset is 0 if the column has no offset",
   "lists_column_view::get_sliced_child, src/lists/lists_column_view.cu; "
   "get_first_and_last_offset, src/strings/utilities.cu"},
  {invariant::offsets_ascend,
   "offsets ascend and are not negative",
   "explode, src/lists/explode.cu"},
  {invariant::offsets_stay_within,
   "the last offset lies within the elements or characters",
   "detail::slice, src/copying/slice.cu; strings_column_view::chars_size, "
   "src/strings/strings_column_view.cpp"},
  {invariant::child_ends_with_offsets,
   "if there are no offsets after those of the rows, there are no elements after the last offset",
   "merge_offsets, src/lists/copying/concatenate.cu"},
  {invariant::elements_begin_at_their_head,
   "the elements column of a list has no offset",
   "compute_splits, src/copying/contiguous_split.cu; get_encoding, src/lists/dremel.cu"},
  {invariant::null_rows_are_empty,
   "null lists and strings are empty",
   "has_nonempty_nulls, src/copying/purge_nonempty_nulls.cu"},
  {invariant::fields_begin_at_their_head,
   "the fields of a struct have no offset",
   "structs_column_view::get_sliced_child, src/structs/structs_column_view.cpp"},
  {invariant::fields_cover_the_struct,
   "the fields of a struct have its rows, including those before a slice",
   "structs_column_view::get_sliced_child, src/structs/structs_column_view.cpp"},
  {invariant::null_structs_have_null_fields,
   "fields are null in the rows in which their struct is null",
   "superimpose_and_sanitize_nulls, src/structs/utilities.cu"},
  {invariant::indices_are_signed,
   "indices are signed integers",
   "make_dictionary_column, src/dictionary/dictionary_factories.cu"},
  {invariant::indices_have_no_nulls,
   "the dictionary column has the mask, not its indices",
   "make_dictionary_column, src/dictionary/dictionary_factories.cu"},
  {invariant::indices_begin_at_their_head,
   "the indices column has no offset",
   "dictionary_column_view::get_indices_annotated, src/dictionary/dictionary_column_view.cpp"},
  {invariant::indices_cover_the_rows,
   "there is an index for each row, including those before a slice",
   "dictionary_column_view::get_indices_annotated, src/dictionary/dictionary_column_view.cpp"},
  {invariant::indices_are_within_keys,
   "each valid row has the index of a key",
   "map_indices_fn, src/dictionary/detail/concatenate.cu"},
  {invariant::keys_have_no_nulls,
   "keys have no nulls",
   "make_dictionary_column, src/dictionary/dictionary_factories.cu"},
});

constexpr bool in_order()
{
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].which != static_cast<invariant>(i)) { return false; }
  }
  return table.size() == static_cast<std::size_t>(invariant::keys_have_no_nulls) + 1;
}

static_assert(in_order());

}  // namespace

std::string describe(violation const& v)
{
  auto const& [which, statement, source] = table.at(static_cast<std::size_t>(v.broken));
  return v.path + ": got " + v.found + ", but " + statement + " (" + source + ")";
}

}  // namespace cudf_arrow_bridge::test
