// SPDX-License-Identifier: Apache-2.0
/// @file
/// What is wrong with offsets, and with what they point into.
#pragma once

#include "../sample.hpp"
#include "plant.hpp"

namespace cudf_arrow_bridge::test {

inline std::vector<plant> offsets_plants()
{
  using enum invariant;
  return {
    {"WideOffsetsOfLists",
     offsets_have_their_type,
     "column.offsets",
     [] {
       auto result = planted{integer_list, three_lists()};
       result.replace(0, std::vector<std::int64_t>{0, 2, 2, 3});
       result.change_child(
         0, [](parts& offsets) { offsets.type = cudf::data_type{cudf::type_id::INT64}; });
       return result;
     }},
    {"UnsignedOffsetsOfStrings",
     offsets_have_their_type,
     "column.offsets",
     [] {
       auto result = planted{flat("string"), three_texts()};
       result.change_child(
         0, [](parts& offsets) { offsets.type = cudf::data_type{cudf::type_id::UINT32}; });
       return result;
     }},
    {"NullOffset",
     offsets_have_no_nulls,
     "column.offsets",
     [] {
       auto result = planted{integer_list, three_lists()};
       result.add_mask(0);
       return result;
     }},
    {"OffsetsWithAnOffset",
     offsets_begin_at_their_head,
     "column.offsets",
     [] {
       auto result = planted{integer_list, three_lists()};
       result.replace(0, std::vector<std::int32_t>{0, 2, 2, 3, 3});
       result.change_child(0, [](parts& offsets) { offsets.offset = 1; });
       return result;
     }},
    {"AsManyOffsetsAsRows",
     offsets_are_enough,
     "column.offsets",
     [] {
       auto result = planted{flat("string"), three_texts()};
       result.change_child(0, [](parts& offsets) { --offsets.size; });
       return result;
     }},
    {"NoOffsetsBehindASliceOfNoRows",
     offsets_are_enough,
     "column.offsets",
     [] {
       auto result = planted{integer_list, three_lists(), 3, 3};
       result.change_child(0, [](parts& offsets) { --offsets.size; });
       return result;
     }},
    {"ListsFromTheirSecondElementOn",
     first_offset_is_zero,
     "column.offsets",
     [] {
       auto result = planted{integer_list, three_lists()};
       result.replace(0, std::vector<std::int32_t>{1, 2, 2, 3});
       return result;
     }},
    {"StringsFromTheirSecondCharacterOn",
     first_offset_is_zero,
     "column.offsets",
     [] {
       auto result = planted{flat("string"), three_texts()};
       result.replace(0, std::vector<std::int32_t>{1, 2, 2, 3});
       return result;
     }},
    {"ListsOfAFieldFromTheirSecondElementOn",
     first_offset_is_zero,
     "column.0.offsets",
     [] {
       auto result = planted{struct_of({integer_list}), {value{rows{list({1, 2})}}}};
       result.memory.push_back(host_buffer(std::vector<std::int32_t>{1, 2}));
       auto offsets               = parts{result.owner->view().child(0).child(0)};
       offsets.data               = result.memory[0].data();
       auto lists                 = parts{result.owner->view().child(0)};
       lists.children[0]          = offsets.view();
       result.changed.children[0] = lists.view();
       return result;
     }},
    {"OffsetsThatFall",
     offsets_ascend,
     "column.offsets",
     [] {
       auto result = planted{flat("string"), samples(flat("string"), 3, 0)};
       result.replace(0, std::vector<std::int32_t>{0, 2, 1, 3});
       return result;
     }},
    {"NegativeOffset",
     offsets_ascend,
     "column.offsets",
     [] {
       auto result = planted{integer_list, {list({1}), list({2})}, 1, 2};
       result.replace(0, std::vector<std::int32_t>{0, -1, 2});
       return result;
     }},
    {"OffsetsBehindTheRowsThatFall",
     offsets_ascend,
     "column.offsets",
     [] {
       auto result = planted{flat("string"), samples(flat("string"), 3, 0), 0, 2};
       result.replace(0, std::vector<std::int32_t>{0, 1, 2, 1});
       return result;
     }},
    {"OffsetsBeyondTheElements",
     offsets_stay_within,
     "column",
     [] {
       auto result = planted{integer_list, three_lists()};
       result.replace(0, std::vector<std::int32_t>{0, 2, 2, 4});
       return result;
     }},
    {"OffsetsBeyondTheCharacters",
     offsets_stay_within,
     "column",
     [] {
       auto result                  = planted{flat("string"), three_texts()};
       result.options.allocation_of = bytes_at(result.changed.data, 2);
       return result;
     }},
    {"OffsetsIntoNoCharacters",
     offsets_stay_within,
     "column",
     [] {
       auto result         = planted{flat("string"), three_texts()};
       result.changed.data = nullptr;
       return result;
     }},
    {"ElementsBehindTheLastList",
     child_ends_with_offsets,
     "column",
     [] {
       auto result = planted{integer_list, three_lists()};
       result.replace(0, std::vector<std::int32_t>{0, 1, 1, 2});
       return result;
     }},
    {"ElementsOfNoLists",
     child_ends_with_offsets,
     "column",
     [] {
       auto result                = planted{integer_list, {}};
       auto lists                 = planted{integer_list, three_lists()};
       result.changed.children[1] = lists.changed.children[1];
       auto contents              = lists.owner->release();
       result.memory.push_back(std::move(*contents.children[1]->release().data));
       return result;
     }},
    {"NullStringThatIsNotEmpty",
     null_rows_are_empty,
     "column",
     [] {
       auto result = planted{flat("string"), three_texts()};
       result.replace(0, std::vector<std::int32_t>{0, 1, 2, 3});
       return result;
     }},
    {"NullListThatIsNotEmpty",
     null_rows_are_empty,
     "column",
     [] {
       auto result = planted{integer_list, three_lists()};
       result.replace(0, std::vector<std::int32_t>{0, 1, 2, 3});
       return result;
     }},
  };
}

}  // namespace cudf_arrow_bridge::test
