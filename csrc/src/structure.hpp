// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "errors.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <cstdint>

namespace cudf_arrow_bridge::detail {

/// Levels below each other: more than any real schema has, few enough for recursion.
constexpr int max_depth = 64;

/// Levels in all. Structs that contain another one twice, which contains a third one twice, and so
/// on, take no memory and have no end.
constexpr std::int64_t max_levels = std::int64_t{1} << 20;

/**
 * @brief Checks that a schema can be walked at all.
 *
 * Every pointer to be followed is there, nothing has been released, there are not more levels than
 * `max_depth` below each other nor than `max_levels` in all; names and format strings are UTF-8,
 * and no size within metadata is negative. nanoarrow takes all of this for granted.
 *
 * @throws std::invalid_argument otherwise
 *
 * @param schema Schema to walk
 * @param path Names the column in errors
 */
void check_structure(ArrowSchema const& schema, column_path const& path);

}  // namespace cudf_arrow_bridge::detail
