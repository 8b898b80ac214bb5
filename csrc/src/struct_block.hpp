// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {

/// Where the nodes below one node stand among all nodes of a tree, the root being the first.
struct tree_links {
  static constexpr std::size_t no_dictionary = 0;  ///< the root is nobody's dictionary

  std::size_t first_child{0};  ///< children stand side by side
  std::size_t num_children{0};
  std::size_t dictionary{no_dictionary};
};

/**
 * @brief The memory behind all C structs of one exported tree.
 *
 * A consumer may move children out and release them in any order and from any thread, so each
 * struct holds one share of the whole block; whoever drops the last one frees it. That costs a
 * constant number of allocations per tree instead of some per column.
 *
 * @tparam Struct `ArrowArray` or `ArrowSchema`
 */
template <typename Struct>
class struct_block {
 public:
  /**
   * @brief Makes live structs of a node and all below it.
   *
   * @param root Memory of the consumer, overwritten
   * @param tree Has `nodes`, which are `tree_links` with a `write(Struct&)` of their own content;
   *   kept alive as what the structs point at
   * @param node The one that becomes the root
   */
  template <typename Tree>
  static void write(Struct& root, std::shared_ptr<Tree const> const& tree, std::size_t node)
  {
    auto block = std::make_unique<struct_block>(tree, tree->nodes.size());
    block.release()->fill(root, *tree, node);
  }

  /// Makes room for a whole tree: the structs point at one another, so none may move.
  struct_block(std::shared_ptr<void const> tree, std::size_t num_structs) : tree_{std::move(tree)}
  {
    structs_.reserve(num_structs);
    pointers_.reserve(num_structs);
  }

 private:
  template <typename Tree>
  void fill(Struct& value, Tree const& tree, std::size_t index) noexcept
  {
    auto const& node = tree.nodes[index];
    value            = Struct{};
    node.write(value);
    value.release      = &release;
    value.private_data = this;
    live_.store(live_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (node.num_children > 0) {
      auto const first = pointers_.size();
      pointers_.resize(first + node.num_children);
      value.n_children = static_cast<std::int64_t>(node.num_children);
      value.children   = pointers_.data() + first;
      for (std::size_t i = 0; i < node.num_children; ++i) {
        value.children[i] = &structs_.emplace_back();
        fill(*value.children[i], tree, node.first_child + i);
      }
    }
    if (node.dictionary != tree_links::no_dictionary) {
      value.dictionary = &structs_.emplace_back();
      fill(*value.dictionary, tree, node.dictionary);
    }
  }

  static void release(Struct* value) noexcept
  {
    auto const release_unless_moved = [](Struct* below) {
      if (below->release != nullptr) { below->release(below); }
    };
    for (std::int64_t i = 0; i < value->n_children; ++i) {
      release_unless_moved(value->children[i]);
    }
    if (value->dictionary != nullptr) { release_unless_moved(value->dictionary); }
    value->release = nullptr;
    auto* block    = static_cast<struct_block*>(value->private_data);
    if (block->live_.fetch_sub(1, std::memory_order_acq_rel) == 1) { delete block; }
  }

  std::shared_ptr<void const> tree_;
  std::vector<Struct> structs_;       ///< all but the root
  std::vector<Struct*> pointers_;     ///< `children` of every struct
  std::atomic<std::size_t> live_{0};  ///< structs not yet released
};

}  // namespace cudf_arrow_bridge::detail
