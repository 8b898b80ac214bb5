// SPDX-License-Identifier: Apache-2.0
/// @file
/// Violations of invariants of masks, data and the number of children.
#pragma once

#include "testing/plants/plant.hpp"
#include "testing/sample.hpp"

#include <limits>

namespace cudf_arrow_bridge::test {

inline std::vector<plant> flat_plants()
{
  using enum invariant;
  return {
    {"OffsetAndSizeBeyondTheLimit",
     rows_fit,
     "column",
     integer,
     {number(1), number(2)},
     [](planted& it) { it.changed.offset = std::numeric_limits<cudf::size_type>::max() - 1; }},
    {"NullCountOfNoNulls",
     null_count_is_right,
     "column",
     integer,
     three_numbers(),
     [](planted& it) { it.changed.null_count = 0; }},
    {"NullCountOfAField",
     null_count_is_right,
     "column.0",
     struct_of({integer}),
     three_structs(),
     [](planted& it) { it.change_child(0, [](parts& field) { field.null_count = 0; }); }},
    {"MaskOffItsWord",
     mask_is_aligned,
     "column",
     integer,
     three_numbers(),
     [](planted& it) {
       it.memory.push_back(host_buffer(std::vector<std::uint8_t>{0, 0b101, 0, 0, 0}));
       it.changed.mask = moved(static_cast<cudf::bitmask_type const*>(it.memory[0].data()), 1);
     }},
    {"MaskWithoutPadding",
     mask_is_padded,
     "column",
     integer,
     three_numbers(),
     [](planted& it) { it.options.allocation_of = bytes_at(it.changed.mask, 60); }},
    {"MaskOfASliceThatEndsWithinAWord",
     mask_is_padded,
     "column",
     integer,
     samples(integer, 40, 50),
     [](planted& it) { it.options.allocation_of = bytes_at(it.changed.mask, 5); },
     {{3, 40}}},
    {"DataBetweenElements",
     data_is_aligned,
     "column",
     integer,
     samples(integer, 4, 0),
     [](planted& it) {
       it.changed.size = 2;
       it.changed.data = moved(it.changed.data, 2);
     }},
    {"DataThatEndsBeforeTheRows",
     data_is_allocated,
     "column",
     integer,
     samples(integer, 4, 0),
     [](planted& it) { it.options.allocation_of = bytes_at(it.changed.data, 15); }},
    {"ListWithoutElements",
     children_are_there,
     "column",
     integer_list,
     three_lists(),
     [](planted& it) { it.changed.children.pop_back(); }},
    {"NumbersWithAChild",
     children_are_there,
     "column",
     integer,
     three_numbers(),
     [](planted& it) { it.changed.children = {it.owner->view()}; }},
    {"DictionaryWithoutKeys",
     children_are_there,
     "column",
     dictionary_of(integer),
     three_numbers(),
     [](planted& it) { it.changed.children.pop_back(); }},
  };
}

}  // namespace cudf_arrow_bridge::test
