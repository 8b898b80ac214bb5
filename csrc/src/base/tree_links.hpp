// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace cudf_arrow_bridge::detail {

/// Indices of a node's children and dictionary in the list of all nodes of a tree. The root is 0.
struct tree_links {
  static constexpr std::size_t no_dictionary = 0;  ///< the root is never a dictionary

  std::size_t first_child;  ///< the others follow it
  std::size_t num_children;
  std::size_t dictionary;
};

}  // namespace cudf_arrow_bridge::detail
