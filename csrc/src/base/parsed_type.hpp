// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/array_layout.hpp"

#include <cudf_arrow_bridge/types.hpp>

#include <cudf/types.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace cudf_arrow_bridge::detail {

/// The type of one level of an Arrow schema, from its format string.
struct parsed_type {
  type_row const* row;
  cudf::data_type column;  ///< libcudf's type; in a tree, that of the values for run-end encoding
  array_layout layout;     ///< layout of its arrays; unused for types that are not supported
  std::int64_t element_bits;  ///< bits of an element in the data buffer of a fixed layout
  std::int64_t list_size;     ///< child rows for each row of fixed lists
  int precision{0};           ///< decimal digits
};

/// The types of all levels of a schema, from `parse_types`. The schema must outlive it.
struct parsed_tree {
  ArrowSchema const* schema;
  parsed_type type;
  std::vector<parsed_tree> children;  ///< for a dictionary, one: its values
};

/// The canonical extension type of bools of one byte, which are stored as int8.
inline constexpr std::string_view bool8_name = "arrow.bool8";

/// @return The largest precision (decimal digits) of a decimal of `bits` bits
constexpr int max_precision(std::int64_t bits) noexcept
{
  switch (bits) {
    case 32: return 9;
    case 64: return 18;
    case 128: return 38;
    default: return 76;
  }
}

/// @return The size in bits of a value of a fixed-width type
inline std::int64_t bits_of(cudf::data_type type)
{ return static_cast<std::int64_t>(cudf::size_of(type)) * 8; }

/**
 * @brief Parses one level of a schema.
 *
 * @throws std::invalid_argument for a format string that is not in the specification, or
 *   children that it does not allow
 *
 * @param schema Schema that has passed `check_traversable`
 */
parsed_type parse_type(ArrowSchema const& schema);

/// @return Whether a format string is that of a list or a map
bool is_list_format(std::string_view format);

/// @return The name of a child in error messages: that of a field, null if it has none, or "[]" for
/// the element of a list or a map
char const* name_of_child(ArrowSchema const& schema, std::int64_t child);

/// @return The flags of a schema that its type can have. Arrow C++ ignores all others, which newer
/// versions of the specification may define.
std::int64_t flags_of(ArrowSchema const& schema);

/// @return The type of a dictionary's indices, from the format string of the dictionary's schema
cudf::type_id index_type(ArrowSchema const& schema);

/// @return The first row with this Arrow name; null: none
type_row const* find_type_named(std::string_view name);

/// @return The first row whose format matches a format string; null: none
type_row const* find_type_of_format(std::string_view format);

}  // namespace cudf_arrow_bridge::detail
