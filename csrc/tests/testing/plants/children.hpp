// SPDX-License-Identifier: Apache-2.0
/// @file
/// What is wrong with the fields of structs, and with dictionaries.
#pragma once

#include "../sample.hpp"
#include "plant.hpp"

namespace cudf_arrow_bridge::test {

inline std::vector<plant> children_plants()
{
  using enum invariant;
  return {
    {"FieldWithAnOffset",
     fields_begin_at_their_head,
     "column.0",
     [] {
       auto result         = planted{struct_of({integer}), {list({1}), list({2})}};
       result.changed.size = 1;
       result.change_child(0, [](parts& field) {
         field.offset = 1;
         field.size   = 1;
       });
       return result;
     }},
    {"FieldThatEndsBeforeTheStruct",
     fields_cover_the_struct,
     "column.0",
     [] {
       auto result = planted{struct_of({integer}), {list({1}), list({2})}, 1, 2};
       result.change_child(0, [](parts& field) { field.size = 1; });
       return result;
     }},
    {"FieldWithAValueInANullStruct",
     null_structs_have_null_fields,
     "column.0",
     [] {
       auto result = planted{struct_of({integer}), three_structs()};
       result.change_child(0, [](parts& field) {
         field.mask       = nullptr;
         field.null_count = 0;
       });
       return result;
     }},
    {"UnsignedIndices",
     indices_are_signed,
     "column.indices",
     [] {
       auto result = planted{dictionary_of(integer), three_numbers()};
       result.change_child(
         0, [](parts& indices) { indices.type = cudf::data_type{cudf::type_id::UINT32}; });
       return result;
     }},
    {"KeysBeforeIndices",
     indices_are_signed,
     "column.indices",
     [] {
       auto result = planted{dictionary_of(flat("string")), three_texts()};
       std::swap(result.changed.children[0], result.changed.children[1]);
       return result;
     }},
    {"NullIndex",
     indices_have_no_nulls,
     "column.indices",
     [] {
       auto result = planted{dictionary_of(integer), three_numbers()};
       result.add_mask(0);
       return result;
     }},
    {"IndicesWithAnOffset",
     indices_begin_at_their_head,
     "column.indices",
     [] {
       auto result = planted{dictionary_of(integer), three_numbers()};
       result.replace(0, std::vector<std::int32_t>{0, 0, 1, 0});
       result.change_child(0, [](parts& indices) { indices.offset = 1; });
       return result;
     }},
    {"FewerIndicesThanRows",
     indices_cover_the_rows,
     "column.indices",
     [] {
       auto result = planted{dictionary_of(integer), three_numbers()};
       result.change_child(0, [](parts& indices) { --indices.size; });
       return result;
     }},
    {"IndexOfNoKey",
     indices_are_within_keys,
     "column.indices",
     [] {
       auto result = planted{dictionary_of(integer), three_numbers()};
       result.replace(0, std::vector<std::int32_t>{0, 0, 2});
       return result;
     }},
    {"NegativeIndex",
     indices_are_within_keys,
     "column.indices",
     [] {
       auto result = planted{dictionary_of(integer), three_numbers()};
       result.replace(0, std::vector<std::int32_t>{0, 0, -1});
       return result;
     }},
    {"NullKey",
     keys_have_no_nulls,
     "column.keys",
     [] {
       auto result = planted{dictionary_of(integer), three_numbers()};
       result.add_mask(1);
       return result;
     }},
  };
}

}  // namespace cudf_arrow_bridge::test
