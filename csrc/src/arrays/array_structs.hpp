// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arrays/array_tree.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <cstddef>
#include <memory>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Makes live C structs of a node of a tree and all below it, by nanoarrow.
 *
 * Each array holds one share of the tree, so a consumer may move children out and release all of
 * them in any order and from any thread.
 *
 * @throws std::bad_alloc if memory runs out, nothing being left behind
 *
 * @param tree Tree that is kept alive as what the structs point at
 * @param node The one that becomes the root
 * @param root Released struct; holds what was made so far if this throws
 */
void build_array(std::shared_ptr<array_tree const> const& tree, std::size_t node, ArrowArray& root);

}  // namespace cudf_arrow_bridge::detail
