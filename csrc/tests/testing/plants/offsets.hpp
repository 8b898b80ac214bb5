// SPDX-License-Identifier: Apache-2.0
/// @file
/// Violations of invariants of offsets and of the data that they refer to.
#pragma once

#include "testing/plants/plant.hpp"
#include "testing/sample.hpp"

namespace cudf_arrow_bridge::test {

inline std::vector<plant> offsets_plants()
{
  using enum invariant;
  return {
    {"WideOffsetsOfLists",
     offsets_have_their_type,
     "column.offsets",
     integer_list,
     three_lists(),
     [](planted& it) {
       it.replace(0, std::vector<std::int64_t>{0, 2, 2, 3});
       it.change_child(
         0, [](parts& offsets) { offsets.type = cudf::data_type{cudf::type_id::INT64}; });
     }},
    {"UnsignedOffsetsOfStrings",
     offsets_have_their_type,
     "column.offsets",
     flat("string"),
     three_texts(),
     [](planted& it) {
       it.change_child(
         0, [](parts& offsets) { offsets.type = cudf::data_type{cudf::type_id::UINT32}; });
     }},
    {"NullOffset",
     offsets_have_no_nulls,
     "column.offsets",
     integer_list,
     three_lists(),
     [](planted& it) { it.add_mask(0); }},
    {"OffsetsWithAnOffset",
     offsets_begin_at_their_head,
     "column.offsets",
     integer_list,
     three_lists(),
     [](planted& it) {
       it.replace(0, std::vector<std::int32_t>{0, 2, 2, 3, 3});
       it.change_child(0, [](parts& offsets) { offsets.offset = 1; });
     }},
    {"AsManyOffsetsAsRows",
     offsets_are_enough,
     "column.offsets",
     flat("string"),
     three_texts(),
     [](planted& it) { it.change_child(0, [](parts& offsets) { --offsets.size; }); }},
    {"NoOffsetsBehindASliceOfNoRows",
     offsets_are_enough,
     "column.offsets",
     integer_list,
     three_lists(),
     [](planted& it) { it.change_child(0, [](parts& offsets) { --offsets.size; }); },
     {{3, 3}}},
    {"ListsFromTheirSecondElementOn",
     first_offset_is_zero,
     "column.offsets",
     integer_list,
     three_lists(),
     [](planted& it) { it.replace(0, std::vector<std::int32_t>{1, 2, 2, 3}); }},
    {"StringsFromTheirSecondCharacterOn",
     first_offset_is_zero,
     "column.offsets",
     flat("string"),
     three_texts(),
     [](planted& it) { it.replace(0, std::vector<std::int32_t>{1, 2, 2, 3}); }},
    {"ListsOfAFieldFromTheirSecondElementOn",
     first_offset_is_zero,
     "column.0.offsets",
     struct_of({integer_list}),
     {value{rows{list({1, 2})}}},
     [](planted& it) {
       it.memory.push_back(host_buffer(std::vector<std::int32_t>{1, 2}));
       auto offsets           = parts{it.owner->view().child(0).child(0)};
       offsets.data           = it.memory[0].data();
       auto lists             = parts{it.owner->view().child(0)};
       lists.children[0]      = offsets.view();
       it.changed.children[0] = lists.view();
     }},
    {"OffsetsThatFall",
     offsets_ascend,
     "column.offsets",
     flat("string"),
     samples(flat("string"), 3, 0),
     [](planted& it) { it.replace(0, std::vector<std::int32_t>{0, 2, 1, 3}); }},
    {"NegativeOffset",
     offsets_ascend,
     "column.offsets",
     integer_list,
     {list({1}), list({2})},
     [](planted& it) { it.replace(0, std::vector<std::int32_t>{0, -1, 2}); },
     {{1, 2}}},
    {"OffsetsBehindTheRowsThatFall",
     offsets_ascend,
     "column.offsets",
     flat("string"),
     samples(flat("string"), 3, 0),
     [](planted& it) { it.replace(0, std::vector<std::int32_t>{0, 1, 2, 1}); },
     {{0, 2}}},
    {"OffsetsBeyondTheElements",
     offsets_stay_within,
     "column",
     integer_list,
     three_lists(),
     [](planted& it) { it.replace(0, std::vector<std::int32_t>{0, 2, 2, 4}); }},
    {"OffsetsBeyondTheCharacters",
     offsets_stay_within,
     "column",
     flat("string"),
     three_texts(),
     [](planted& it) { it.options.allocation_of = bytes_at(it.changed.data, 2); }},
    {"OffsetsIntoNoCharacters",
     offsets_stay_within,
     "column",
     flat("string"),
     three_texts(),
     [](planted& it) { it.changed.data = nullptr; }},
    {"ElementsBehindTheLastList",
     child_ends_with_offsets,
     "column",
     integer_list,
     three_lists(),
     [](planted& it) { it.replace(0, std::vector<std::int32_t>{0, 1, 1, 2}); }},
    {"ElementsWithAnOffset",
     elements_begin_at_their_head,
     "column[]",
     integer_list,
     three_lists(),
     [](planted& it) {
       it.replace(1, std::vector<std::int32_t>{0, 1, 2, 3});
       it.change_child(1, [](parts& elements) { elements.offset = 1; });
     }},
    {"ElementsOfNoLists",
     child_ends_with_offsets,
     "column",
     integer_list,
     {},
     [](planted& it) {
       auto lists             = planted{integer_list, three_lists()};
       it.changed.children[1] = lists.changed.children[1];
       auto contents          = lists.owner->release();
       it.memory.push_back(std::move(*contents.children[1]->release().data));
     }},
    {"NullStringThatIsNotEmpty",
     null_rows_are_empty,
     "column",
     flat("string"),
     three_texts(),
     [](planted& it) { it.replace(0, std::vector<std::int32_t>{0, 1, 2, 3}); }},
    {"NullListThatIsNotEmpty",
     null_rows_are_empty,
     "column",
     integer_list,
     three_lists(),
     [](planted& it) { it.replace(0, std::vector<std::int32_t>{0, 1, 2, 3}); }},
  };
}

}  // namespace cudf_arrow_bridge::test
