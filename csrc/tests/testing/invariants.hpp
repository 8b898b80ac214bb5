// SPDX-License-Identifier: Apache-2.0
/// @file
/// The invariants that libcudf's algorithms assume about a column, and their check.
#pragma once

#include <cudf/column/column_view.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace cudf_arrow_bridge::test {

/// An invariant of each level of a column. `describe` states it and where libcudf relies on it.
enum class invariant : std::int8_t {
  rows_fit,
  null_count_is_right,
  mask_is_aligned,
  mask_is_padded,
  data_is_aligned,
  data_is_allocated,
  children_are_there,
  offsets_have_their_type,
  offsets_have_no_nulls,
  offsets_begin_at_their_head,
  offsets_are_enough,
  first_offset_is_zero,
  offsets_ascend,
  offsets_stay_within,
  child_ends_with_offsets,
  elements_begin_at_their_head,
  null_rows_are_empty,
  fields_begin_at_their_head,
  fields_cover_the_struct,
  null_structs_have_null_fields,
  indices_are_signed,
  indices_have_no_nulls,
  indices_begin_at_their_head,
  indices_cover_the_rows,
  indices_are_within_keys,
  keys_have_no_nulls,
};

/// Facts about a column that its view does not have.
struct invariant_options {
  /// Fields of null structs are null, and null strings and lists are empty.
  bool sanitized{true};
  /// Required alignment is the element size, but at most this. 8 is enough on the CPU.
  std::size_t max_alignment{8};
  /// The allocation that contains an address; empty if not known.
  std::function<std::span<std::byte const>(void const*)> allocation_of{
    [](void const*) { return std::span<std::byte const>{}; }};
};

/// An invariant that does not hold.
struct violation {
  invariant broken;
  std::string path;   ///< `column`, then `.offsets`, `[]`, `.` and a field's number, `.keys` ...
  std::string found;  ///< the actual state, for the message
};

/// @return A violation in one line
[[nodiscard]] std::string describe(violation const& v);

/**
 * @brief Finds violations of the invariants at all levels of a column.
 *
 * Fields of a struct are checked as `structs_column_view::get_sliced_child` returns them.
 * Conditions that the constructor of `cudf::column_view` enforces are not checked. Violations that
 * follow from another violation are not reported.
 *
 * @param column A column whose memory the calling thread may read
 */
[[nodiscard]] std::vector<violation> find_violations(cudf::column_view const& column,
                                                     invariant_options const& options = {});

}  // namespace cudf_arrow_bridge::test
