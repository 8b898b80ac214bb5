// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/errors.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <cstdint>
#include <string_view>

namespace cudf_arrow_bridge::detail {

/// The maximum depth of nesting: more than real schemas have, and safe for recursion.
constexpr int max_depth = 64;

/// The maximum number of levels in total. A producer may reference one struct from several parents,
/// so n structs can form a tree of 2^n levels.
constexpr std::int64_t max_levels = std::int64_t{1} << 20;

/// @return Whether a format string is that of a list or a map
bool is_list_format(std::string_view format);

/// @return The name of a child in error messages: that of a field, null if it has none, or "[]" for
/// the element of a list or a map
char const* name_of_child(ArrowSchema const& schema, std::int64_t child);

/// @return The flags of a schema that its type can have. Arrow C++ ignores all others, which newer
/// versions of the specification may define.
std::int64_t flags_of(ArrowSchema const& schema);

/**
 * @brief Checks that a schema, and an array with it, can be traversed.
 *
 * Pointers that will be followed are not null; nothing has been released; schema and array have the
 * same children and dictionaries, at most `max_depth` deep and `max_levels` in total; names and
 * format strings are UTF-8; no size in the metadata is negative. nanoarrow checks none of this.
 *
 * @throws std::invalid_argument if a check fails
 *
 * @param array Array to check against the schema; null: none
 */
void check_structure(ArrowSchema const& schema, ArrowArray const* array, column_path const& path);

/// @throws std::invalid_argument for a released array, or unless one level of an array has the
///   children and dictionary of its schema
void check_counterpart(ArrowSchema const& schema, ArrowArray const& array, column_path const& path);

}  // namespace cudf_arrow_bridge::detail
