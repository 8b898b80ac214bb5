// SPDX-License-Identifier: Apache-2.0
/// @file
/// Violations of invariants of the fields of structs and of dictionaries.
#pragma once

#include "testing/plants/plant.hpp"
#include "testing/sample.hpp"

namespace cudf_arrow_bridge::test {

inline std::vector<plant> children_plants()
{
  using enum invariant;
  return {
    {"FieldWithAnOffset",
     fields_begin_at_their_head,
     "column.0",
     struct_of({integer}),
     {list({1}), list({2})},
     [](planted& it) {
       it.changed.size = 1;
       it.change_child(0, [](parts& field) {
         field.offset = 1;
         field.size   = 1;
       });
     }},
    {"FieldThatEndsBeforeTheStruct",
     fields_cover_the_struct,
     "column.0",
     struct_of({integer}),
     {list({1}), list({2})},
     [](planted& it) { it.change_child(0, [](parts& field) { field.size = 1; }); },
     {{1, 2}}},
    {"FieldWithAValueInANullStruct",
     null_structs_have_null_fields,
     "column.0",
     struct_of({integer}),
     three_structs(),
     [](planted& it) {
       it.change_child(0, [](parts& field) {
         field.mask       = nullptr;
         field.null_count = 0;
       });
     }},
    {"UnsignedIndices",
     indices_are_signed,
     "column.indices",
     dictionary_of(integer),
     three_numbers(),
     [](planted& it) {
       it.change_child(
         0, [](parts& indices) { indices.type = cudf::data_type{cudf::type_id::UINT32}; });
     }},
    {"KeysBeforeIndices",
     indices_are_signed,
     "column.indices",
     dictionary_of(flat("string")),
     three_texts(),
     [](planted& it) { std::swap(it.changed.children[0], it.changed.children[1]); }},
    {"NullIndex",
     indices_have_no_nulls,
     "column.indices",
     dictionary_of(integer),
     three_numbers(),
     [](planted& it) { it.add_mask(0); }},
    {"IndicesWithAnOffset",
     indices_begin_at_their_head,
     "column.indices",
     dictionary_of(integer),
     three_numbers(),
     [](planted& it) {
       it.replace(0, std::vector<std::int32_t>{0, 0, 1, 0});
       it.change_child(0, [](parts& indices) { indices.offset = 1; });
     }},
    {"FewerIndicesThanRows",
     indices_cover_the_rows,
     "column.indices",
     dictionary_of(integer),
     three_numbers(),
     [](planted& it) { it.change_child(0, [](parts& indices) { --indices.size; }); }},
    {"IndexOfNoKey",
     indices_are_within_keys,
     "column.indices",
     dictionary_of(integer),
     three_numbers(),
     [](planted& it) { it.replace(0, std::vector<std::int32_t>{0, 0, 2}); }},
    {"NegativeIndex",
     indices_are_within_keys,
     "column.indices",
     dictionary_of(integer),
     three_numbers(),
     [](planted& it) { it.replace(0, std::vector<std::int32_t>{0, 0, -1}); }},
    {"NullKey",
     keys_have_no_nulls,
     "column.keys",
     dictionary_of(integer),
     three_numbers(),
     [](planted& it) { it.add_mask(1); }},
  };
}

}  // namespace cudf_arrow_bridge::test
