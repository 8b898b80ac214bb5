// SPDX-License-Identifier: Apache-2.0
#include "array_tree.hpp"

#include <atomic>

namespace cudf_arrow_bridge::detail {
namespace {

/**
 * @brief The memory behind all structs of one exported tree.
 *
 * A consumer may move children out and release them in any order and from any thread, so each
 * struct holds one share of the whole block; whoever drops the last one frees it. That costs a
 * constant number of allocations per tree instead of some per column.
 */
struct export_block {
  std::shared_ptr<array_tree const> tree;
  std::vector<ArrowArray> arrays;     ///< all nodes but the root, whose struct is the consumer's
  std::vector<ArrowArray*> pointers;  ///< `children` of every array
  std::atomic<std::size_t> live;      ///< structs not yet released

  static void drop_share(export_block* block) noexcept
  {
    if (block->live.fetch_sub(1, std::memory_order_acq_rel) == 1) { delete block; }
  }
};

extern "C" void release_exported_array(ArrowArray* array) noexcept
{
  auto const release_unless_moved = [](ArrowArray* below) {
    if (below->release != nullptr) { below->release(below); }
  };
  for (std::int64_t i = 0; i < array->n_children; ++i) { release_unless_moved(array->children[i]); }
  if (array->dictionary != nullptr) { release_unless_moved(array->dictionary); }
  array->release = nullptr;
  export_block::drop_share(static_cast<export_block*>(array->private_data));
}

/// Collects the nodes reachable from one, in the order in which their structs will stand.
struct block_builder {
  array_tree const& tree;
  export_block& block;

  void fill(ArrowArray& array, array_node const& node)
  {
    array.length     = node.length;
    array.null_count = node.null_count;
    array.offset     = node.offset;
    array.n_buffers  = node.num_buffers();
    // Consumers have no business writing here, so all structs of a tree share these pointers.
    array.buffers = array.n_buffers == 0 ? nullptr : const_cast<void const**>(node.buffers.data());
    array.n_children   = static_cast<std::int64_t>(node.num_children);
    array.children     = nullptr;
    array.dictionary   = nullptr;
    array.release      = &release_exported_array;
    array.private_data = &block;
    if (node.num_children > 0) {
      auto const first = block.pointers.size();
      block.pointers.resize(first + node.num_children);
      array.children = block.pointers.data() + first;
      for (std::size_t i = 0; i < node.num_children; ++i) {
        array.children[i] = add(tree.nodes[node.first_child + i]);
      }
    }
    if (node.dictionary != array_node::no_dictionary) {
      array.dictionary = add(tree.nodes[node.dictionary]);
    }
  }

  ArrowArray* add(array_node const& node)
  {
    auto& array = block.arrays.emplace_back();
    fill(array, node);
    return &array;
  }
};

}  // namespace

std::int64_t array_node::num_buffers() const noexcept
{
  switch (layout) {
    case array_layout::null: return 0;
    case array_layout::validity: return 1;
    case array_layout::fixed:
    case array_layout::offsets32: return 2;
    case array_layout::string32:
    case array_layout::string64: return 3;
  }
  return 0;
}

unique_device_array array_tree::to_arrow(std::shared_ptr<array_tree const> const& tree,
                                         std::size_t node)
{
  auto block  = std::make_unique<export_block>();
  block->tree = tree;
  // Room for the whole tree up front: the structs point at one another.
  block->arrays.reserve(tree->nodes.size());
  block->pointers.reserve(tree->nodes.size());

  unique_device_array result;
  block_builder{*tree, *block}.fill(result->array, tree->nodes[node]);
  block->live.store(block->arrays.size() + 1, std::memory_order_relaxed);
  block.release();  // owned by the structs from here on

  result->device_type = tree->location.device_type;
  result->device_id   = tree->location.device_id;
  return result;
}

}  // namespace cudf_arrow_bridge::detail
