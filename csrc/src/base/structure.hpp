// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/errors.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <cstdint>

namespace cudf_arrow_bridge::detail {

/// Levels below each other: more than any real schema has, few enough for recursion.
constexpr int max_depth = 64;

/// Levels in all. Structs that contain another one twice, which contains a third one twice, and so
/// on, take no memory and have no end.
constexpr std::int64_t max_levels = std::int64_t{1} << 20;

/**
 * @brief Checks that a schema, and an array with it, can be walked at all.
 *
 * Every pointer to be followed is there, nothing has been released, both have the same children and
 * dictionaries, not deeper than `max_depth` and not more than `max_levels` of them; names and
 * format strings are UTF-8, and no size within metadata is negative. nanoarrow takes all of this
 * for granted.
 *
 * @throws std::invalid_argument otherwise
 *
 * @param schema Schema to walk
 * @param array Array to walk beside it; null: none
 * @param path Names the column in errors
 */
void check_structure(ArrowSchema const& schema, ArrowArray const* array, column_path const& path);

/**
 * @brief Checks that what one level of a schema has below, an array has too.
 *
 * @throws std::invalid_argument for a released array, or other children or dictionaries
 */
void check_counterpart(ArrowSchema const& schema, ArrowArray const& array, column_path const& path);

}  // namespace cudf_arrow_bridge::detail
