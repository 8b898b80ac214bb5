// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace cudf_arrow_bridge::detail {

/// Where the nodes below one node stand among all nodes of a tree, the root being the first.
struct tree_links {
  static constexpr std::size_t no_dictionary = 0;  ///< the root is nobody's dictionary

  std::size_t first_child;  ///< children stand side by side
  std::size_t num_children;
  std::size_t dictionary;
};

}  // namespace cudf_arrow_bridge::detail
