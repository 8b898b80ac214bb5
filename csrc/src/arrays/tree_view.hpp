// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arrays/array_tree.hpp"
#include "base/parsed_type.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/memory.hpp>

#include <memory>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Describes an array as a tree over its own buffers. Copies and owns nothing.
 *
 * @param types Types that the array has been validated for
 * @param array Array that outlives the tree
 * @param location Where its buffers are
 */
std::unique_ptr<array_tree const> view_tree(parsed_tree const& types,
                                            ArrowArray const& array,
                                            memory_location const& location);

}  // namespace cudf_arrow_bridge::detail
