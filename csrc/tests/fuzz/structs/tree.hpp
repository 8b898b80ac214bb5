// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuzz/structs/layout.hpp"
#include "fuzz/structs/memory_pool.hpp"
#include "fuzz/structs/random.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <vector>

namespace cudf_arrow_bridge::fuzz {

/// One level of a schema and of an array, with the arrays of pointers that their structs point to.
struct node {
  ArrowSchema schema{};
  ArrowArray array{};
  std::vector<void const*> buffers;
  std::vector<ArrowSchema*> schemas;
  std::vector<ArrowArray*> arrays;

  ArrowSchema const* provided_for{nullptr};  ///< the schema that buffers were last looked at for

  /// @return The node that a struct of a tree is part of
  static node& of(ArrowArray* array);
  static node& of(ArrowSchema* schema);
};

/// What can be said of a node and undone: all that a mutation may change.
struct node_state {
  ArrowSchema schema{};
  ArrowArray array{};
  std::vector<void const*> buffers;
  std::vector<ArrowSchema*> schemas;
  std::vector<ArrowArray*> arrays;
};

/**
 * @brief A producer's structs, children's included, and all memory behind them.
 *
 * Made valid, then changed at will, then restored. Releasing makes all of it inaccessible to the
 * address sanitizer, as freeing would.
 */
class tree {
 public:
  explicit tree(std::uint64_t seed) : random{seed} {}

  random_source random;
  memory_pool pool;
  std::vector<std::unique_ptr<node>> nodes;  ///< the root first
  node* spare{nullptr};                      ///< the last node, which is no part of the tree
  std::int64_t num_levels{0};                ///< met on the way through all children, if valid
  bool is_spoiled{false};                    ///< whether only full validation finds out all
  bool is_readable{true};                    ///< by nanoarrow, as far as memory goes
  int num_released{0};                       ///< calls of the root's release
  int num_children_released{0};  ///< calls of any other release, nobody's but the root's

  node& add_node();

  [[nodiscard]] node& root() { return *nodes.front(); }

  [[nodiscard]] node& any_node()
  {
    auto const last = std::ssize(nodes) - (spare == nullptr ? 0 : 1);
    return *nodes[static_cast<std::size_t>(random.below(last))];
  }

  void save();
  void restore();

  /// Sets the pointers in a node's structs to what the node holds.
  void link(node& target);

  void conceal() const;
  void reveal() const;

  /// For people who look for what an import did wrong.
  void print(std::ostream& out) const;

 private:
  std::vector<node_state> saved_;
  std::size_t saved_blocks_{0};
};

/// Fills an empty tree with a valid schema and array of types of the type table.
void generate(tree& target);

/**
 * @brief A tree that reaches for the bounds: long chains, nodes that are their parents' children
 * several times over, or many children.
 */
void generate_extreme(tree& target);

/**
 * @brief Gives the structs, as they are now, the memory that they claim to have.
 *
 * Nobody could tell claims of memory that is not there from others. What contradicts itself or the
 * schema claims nothing.
 *
 * @return Whether that was possible: more than a few thousand rows are not provided
 */
[[nodiscard]] bool provide(tree& target);

/// @return Whether the pointers to children are there that each level of the schema claims to have,
/// or more are claimed than anybody takes
[[nodiscard]] bool has_claimed_children(tree const& target);

/// Fills the buffers of an array for the rows that it has, ascending offsets and all.
/// @return Whether that was possible
[[nodiscard]] bool fill_buffers(tree& target, format_info const& format, ArrowArray& array);

/// Fills the run ends of an array of runs.
void fill_run_ends(tree& target, ArrowArray const& runs, format_info const& ends_format);

}  // namespace cudf_arrow_bridge::fuzz
