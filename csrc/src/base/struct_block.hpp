// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace cudf_arrow_bridge::detail {

/// Where the nodes below one node stand among all nodes of a tree, the root being the first.
struct tree_links {
  static constexpr std::size_t no_dictionary = 0;  ///< the root is nobody's dictionary

  std::size_t first_child{0};  ///< children stand side by side
  std::size_t num_children{0};
  std::size_t dictionary{no_dictionary};

  [[nodiscard]] bool is_leaf() const noexcept
  { return num_children == 0 && dictionary == no_dictionary; }
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

/**
 * @brief The memory behind all C structs of one exported tree.
 *
 * A consumer may move children out and release them in any order and from any thread, so each
 * struct holds one share of the whole block; whoever drops the last one frees it. Those that are
 * released together are counted first and dropped at once.
 *
 * @tparam Struct `ArrowArray` or `ArrowSchema`
 */
template <typename Struct>
class struct_block {
 public:
  /// Bytes that the structs of so many nodes take, and the pointers to them.
  static constexpr std::size_t size_of(std::size_t num_nodes) noexcept
  { return num_nodes * (sizeof(Struct) + sizeof(Struct*)); }

  /**
   * @brief Makes live structs of a node and all below it, in one piece of memory of their own.
   *
   * @param root Memory of the consumer, overwritten
   * @param tree Has `nodes`, which are `tree_links` with a `write(Struct&)` of their own content;
   *   kept alive as what the structs point at
   * @param node The one that becomes the root
   */
  template <typename Tree>
  static void write(Struct& root, std::shared_ptr<Tree const> const& tree, std::size_t node)
  {
    auto const count = node == 0 ? tree->nodes.size() : num_nodes(*tree, node);
    auto* memory = static_cast<std::byte*>(::operator new(sizeof(struct_block) + size_of(count)));
    auto* block  = new (memory) struct_block{memory + sizeof(struct_block), count};
    block->is_apart_ = true;
    block->fill(root, tree, node);
  }

  /**
   * @brief A block that stands in the tree whose structs it is for.
   *
   * @param memory `size_of(num_nodes)` bytes of the tree's, aligned for structs
   * @param num_nodes Nodes of the tree
   */
  struct_block(std::byte* memory, std::size_t num_nodes) noexcept
    : structs_{reinterpret_cast<Struct*>(memory)},
      pointers_{reinterpret_cast<Struct**>(structs_ + num_nodes)}
  {
  }

  struct_block(struct_block const&)            = delete;
  struct_block& operator=(struct_block const&) = delete;
  ~struct_block()                              = default;

  /// Makes the live structs, once. Parameters as for `write`.
  template <typename Tree>
  void fill(Struct& root, std::shared_ptr<Tree const> tree, std::size_t node) noexcept
  {
    write_struct(root, *tree, tree->nodes[node]);
    live_.store(num_used_ + 1, std::memory_order_relaxed);
    tree_ = std::move(tree);
  }

 private:
  template <typename Tree, typename Node>
  void write_struct(Struct& value, Tree const& tree, Node const& node) noexcept
  {
    node.write(value);
    value.release      = &release;
    value.private_data = this;
    if (!node.is_leaf()) { write_below(value, tree, node); }
  }

  template <typename Tree, typename Node>
  void write_below(Struct& value, Tree const& tree, Node const& node) noexcept
  {
    if (node.num_children > 0) {
      auto* first      = structs_ + num_used_;
      value.children   = pointers_ + num_used_;
      value.n_children = static_cast<std::int64_t>(node.num_children);
      num_used_ += node.num_children;
      for (std::size_t i = 0; i < node.num_children; ++i) {
        // NOLINTNEXTLINE(clang-analyzer-security.ArrayBound): there is room for all of them.
        value.children[i] = first + i;
        write_struct(first[i], tree, tree.nodes[node.first_child + i]);
      }
    }
    if (node.dictionary != tree_links::no_dictionary) {
      value.dictionary = structs_ + num_used_++;
      write_struct(*value.dictionary, tree, tree.nodes[node.dictionary]);
    }
  }

  static void release(Struct* value) noexcept
  {
    auto* block         = static_cast<struct_block*>(value->private_data);
    auto const released = block->mark(*value);
    if (block->live_.fetch_sub(released, std::memory_order_acq_rel) == released) { block->free(); }
  }

  /// Marks a struct and those below as released. @return How many of them are this block's
  std::size_t mark(Struct& value) noexcept
  {
    auto count    = std::size_t{1};
    value.release = nullptr;
    for (std::int64_t i = 0; i < value.n_children; ++i) { count += mark_below(*value.children[i]); }
    if (value.dictionary != nullptr) { count += mark_below(*value.dictionary); }
    return count;
  }

  /// Likewise, unless it was moved out; a consumer may have put another struct there.
  std::size_t mark_below(Struct& value) noexcept
  {
    if (value.release == nullptr) { return 0; }
    if (value.release == &release && value.private_data == this) { return mark(value); }
    value.release(&value);
    return 0;
  }

  void free() noexcept
  {
    auto const tree = std::move(tree_);  // goes last: the block may stand in it
    if (is_apart_) {
      this->~struct_block();
      ::operator delete(this);
    }
  }

  std::shared_ptr<void const> tree_;  ///< while there are live structs
  Struct* structs_;                   ///< all but the root
  Struct** pointers_;                 ///< to each of them, for the `children` of every struct
  std::size_t num_used_{0};           ///< of the structs
  std::atomic<std::size_t> live_{0};  ///< structs not yet released, the root included
  bool is_apart_{false};              ///< whether the block has memory of its own
};

}  // namespace cudf_arrow_bridge::detail
