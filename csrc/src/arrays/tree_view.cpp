// SPDX-License-Identifier: Apache-2.0
#include "arrays/tree_view.hpp"

#include <cstddef>

namespace cudf_arrow_bridge::detail {
namespace {

void view_node(array_tree& tree,
               std::size_t index,
               parsed_tree const& types,
               ArrowArray const& array)
{
  auto const& type = types.type;
  auto& node = tree.nodes[index] = {};
  node.layout                    = type.layout;
  node.length                    = array.length;
  node.null_count                = array.null_count;
  node.offset                    = array.offset;
  if (node.layout == array_layout::views) {
    tree.add_view_buffers(node, static_cast<std::size_t>(array.n_buffers));
  }
  for (std::size_t i = 0; i < node.num_buffers(); ++i) { node.buffer(i) = array.buffers[i]; }
  if (node.layout == array_layout::fixed) { node.per_row = type.element_bits; }
  if (node.layout == array_layout::fixed_lists) { node.per_row = type.list_size; }
  node.num_children = static_cast<std::size_t>(array.n_children);
  node.first_child  = tree.add_nodes(node.num_children);
  for (std::size_t i = 0; i < node.num_children; ++i) {
    view_node(tree, node.first_child + i, types.children[i], *array.children[i]);
  }
  if (array.dictionary != nullptr) {
    node.dictionary = tree.add_nodes(1);
    view_node(tree, node.dictionary, types.children[0], *array.dictionary);
  }
}

}  // namespace

std::unique_ptr<array_tree const> view_tree(parsed_tree const& types,
                                            ArrowArray const& array,
                                            memory_location const& location)
{
  auto tree      = std::make_unique<array_tree>();
  tree->location = location;
  view_node(*tree, tree->add_nodes(1), types, array);
  return tree;
}

}  // namespace cudf_arrow_bridge::detail
