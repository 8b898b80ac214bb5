// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace cudf_arrow_bridge::detail {

/// Where the nodes below one node stand among all nodes of a tree, the root being the first.
struct tree_links {
  static constexpr std::size_t no_dictionary = 0;  ///< the root is nobody's dictionary

  std::size_t first_child{0};  ///< children stand side by side
  std::size_t num_children{0};
  std::size_t dictionary{no_dictionary};
};

/// @return How many nodes there are from one of a tree's on, itself included
template <typename Tree>
std::size_t num_nodes(Tree const& tree, std::size_t node)
{
  auto const& links = tree.nodes[node];
  auto result       = std::size_t{1};
  for (std::size_t i = 0; i < links.num_children; ++i) {
    result += num_nodes(tree, links.first_child + i);
  }
  if (links.dictionary != tree_links::no_dictionary) {
    result += num_nodes(tree, links.dictionary);
  }
  return result;
}

}  // namespace cudf_arrow_bridge::detail
