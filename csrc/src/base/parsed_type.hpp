// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/array_layout.hpp"

#include <cudf_arrow_bridge/types.hpp>

#include <cudf/types.hpp>

#include <cstdint>
#include <vector>

namespace cudf_arrow_bridge::detail {

/// What an Arrow schema says of its own level, once its format string is parsed.
struct parsed_type {
  type_row const* row;
  cudf::data_type column;  ///< libcudf's type, a decimal's scale included; in a tree, of runs too
  array_layout layout;     ///< of its arrays; null also for types that are refused
  std::int64_t element_bits;  ///< of the data buffer of a fixed layout
  std::int64_t list_size;     ///< child rows for each row of fixed lists
};

/// The types of a schema's levels, as `parse_types` found them; the schema must stay.
struct parsed_tree {
  ArrowSchema const* schema;
  parsed_type type;
  std::vector<parsed_tree> children;  ///< a dictionary's one child is its values
};

/// @return The most digits that a decimal of so many bits holds
constexpr int max_precision(std::int64_t bits) noexcept
{
  switch (bits) {
    case 32: return 9;
    case 64: return 18;
    case 128: return 38;
    default: return 76;
  }
}

/// @return Bits of a value of a fixed-width type
inline std::int64_t bits_of(cudf::data_type type)
{ return static_cast<std::int64_t>(cudf::size_of(type)) * 8; }

/**
 * @brief Parses one level of a schema.
 *
 * @throws std::invalid_argument for a format string that the specification does not know, or
 *   children that do not go with it
 *
 * @param schema Schema that has passed `check_structure`
 */
parsed_type parse_type(ArrowSchema const& schema);

/// @return What errors call a child: a field by its name, the element of a list "[]"
char const* name_of_child(ArrowSchema const& schema, array_layout layout, std::int64_t child);

/// @return The type of a dictionary's indices, which its own format string says
cudf::type_id index_type(ArrowSchema const& schema);

}  // namespace cudf_arrow_bridge::detail
