// SPDX-License-Identifier: Apache-2.0
/// @file
/// What is wrong with masks, data and the number of children.
#pragma once

#include "../sample.hpp"
#include "plant.hpp"

#include <limits>

namespace cudf_arrow_bridge::test {

inline std::vector<plant> flat_plants()
{
  using enum invariant;
  return {
    {"OffsetAndSizeBeyondTheLimit",
     rows_fit,
     "column",
     [] {
       auto result           = planted{integer, {number(1), number(2)}};
       result.changed.offset = std::numeric_limits<cudf::size_type>::max() - 1;
       return result;
     }},
    {"NullCountOfNoNulls",
     null_count_is_right,
     "column",
     [] {
       auto result               = planted{integer, three_numbers()};
       result.changed.null_count = 0;
       return result;
     }},
    {"NullCountOfAField",
     null_count_is_right,
     "column.0",
     [] {
       auto result = planted{struct_of({integer}), three_structs()};
       result.change_child(0, [](parts& field) { field.null_count = 2; });
       return result;
     }},
    {"MaskOffItsWord",
     mask_is_aligned,
     "column",
     [] {
       auto result = planted{integer, three_numbers()};
       result.memory.push_back(host_buffer(std::vector<std::uint8_t>{0, 0b101, 0, 0, 0}));
       result.changed.mask =
         moved(static_cast<cudf::bitmask_type const*>(result.memory[0].data()), 1);
       return result;
     }},
    {"MaskWithoutPadding",
     mask_is_padded,
     "column",
     [] {
       auto result                  = planted{integer, three_numbers()};
       result.options.allocation_of = bytes_at(result.changed.mask, 60);
       return result;
     }},
    {"MaskOfASliceThatEndsWithinAWord",
     mask_is_padded,
     "column",
     [] {
       auto result                  = planted{integer, samples(integer, 40, 50), 3, 40};
       result.options.allocation_of = bytes_at(result.changed.mask, 5);
       return result;
     }},
    {"DataBetweenElements",
     data_is_aligned,
     "column",
     [] {
       auto result         = planted{integer, samples(integer, 4, 0)};
       result.changed.size = 2;
       result.changed.data = moved(result.changed.data, 2);
       return result;
     }},
    {"DataThatEndsBeforeTheRows",
     data_is_allocated,
     "column",
     [] {
       auto result                  = planted{integer, samples(integer, 4, 0)};
       result.options.allocation_of = bytes_at(result.changed.data, 15);
       return result;
     }},
    {"ListWithoutElements",
     children_are_there,
     "column",
     [] {
       auto result = planted{integer_list, three_lists()};
       result.changed.children.pop_back();
       return result;
     }},
    {"NumbersWithAChild",
     children_are_there,
     "column",
     [] {
       auto result             = planted{integer, three_numbers()};
       result.changed.children = {result.owner->view()};
       return result;
     }},
    {"DictionaryWithoutKeys",
     children_are_there,
     "column",
     [] {
       auto result = planted{dictionary_of(integer), three_numbers()};
       result.changed.children.pop_back();
       return result;
     }},
  };
}

}  // namespace cudf_arrow_bridge::test
