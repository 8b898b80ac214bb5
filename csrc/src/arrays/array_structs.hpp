// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arrays/array_tree.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <cstddef>
#include <memory>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Builds C structs with nanoarrow for a node of a tree and all its descendants.
 *
 * Each array keeps the tree alive, so a consumer may move children out and release all of them in
 * any order and from any thread.
 *
 * @throws std::bad_alloc if memory runs out; releasing `root` then frees all that was built
 *
 * @param tree Tree whose buffers the structs point at; the structs keep it alive
 * @param node Index of the node that becomes the root
 * @param root Output, a released struct; if this throws, it owns what was built so far
 */
void build_array(std::shared_ptr<array_tree const> const& tree, std::size_t node, ArrowArray& root);

/// @return The tree of an array that `build_array` has built, which the array keeps alive; null for
/// any other array
[[nodiscard]] array_tree const* tree_of(ArrowArray const& array) noexcept;

}  // namespace cudf_arrow_bridge::detail
