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

  ArrowSchema const* provided_for{nullptr};  ///< schema of the last visit by `provide`

  /// @return The node that a struct of a tree is part of
  static node& of(ArrowArray* array);
  static node& of(ArrowSchema* schema);
};

/// The saved state of a node: all members that a mutation may change.
struct node_state {
  ArrowSchema schema{};
  ArrowArray array{};
  std::vector<void const*> buffers;
  std::vector<ArrowSchema*> schemas;
  std::vector<ArrowArray*> arrays;
};

/**
 * @brief A producer's structs and all their memory.
 *
 * It is generated valid, then mutated and restored any number of times. Release poisons the memory
 * for AddressSanitizer, as freeing would.
 */
class tree {
 public:
  explicit tree(std::uint64_t seed) : random{seed} {}

  random_source random;
  memory_pool pool;
  std::vector<std::unique_ptr<node>> nodes;  ///< the root is node 0
  node* spare{nullptr};          ///< the last node, not part of the tree; for insertions
  std::int64_t num_levels{0};    ///< levels of the valid tree, shared ones counted repeatedly
  bool is_corrupted{false};      ///< whether contents were changed: needs full validation
  bool is_readable{true};        ///< whether all buffers that nanoarrow reads have memory
  int num_released{0};           ///< calls of the root's release
  int num_children_released{0};  ///< calls of the others' release; must be 0

  node& add_node();

  [[nodiscard]] node& root() { return *nodes.front(); }

  [[nodiscard]] node& any_node()
  {
    auto const last = std::ssize(nodes) - (spare == nullptr ? 0 : 1);
    return *nodes[static_cast<std::size_t>(random.below(last))];
  }

  void save();
  void restore();

  /// Sets counts and pointers in a node's structs to the node's vectors.
  void link(node& target);

  void poison() const;
  void unpoison() const;

  /// Prints the structs, for analysing a finding.
  void print(std::ostream& out) const;

 private:
  std::vector<node_state> saved_;
  std::size_t saved_blocks_{0};
};

/// Fills an empty tree with a valid schema and array of types of the type table.
void generate(tree& target);

/**
 * @brief Fills an empty tree with an extreme one: deep, wide, or with nodes that are children of
 * their parent several times.
 */
void generate_extreme(tree& target);

/**
 * @brief Allocates the memory that the mutated structs claim to have.
 *
 * An importer cannot detect missing memory. Structs that contradict themselves or the schema get no
 * memory, because an import must reject them.
 *
 * @return Whether that was possible: no memory is allocated for more than a few thousand rows
 */
[[nodiscard]] bool provide(tree& target);

/// @return Whether each level of the schema has as many child pointers as it claims, or claims more
///   than any import accepts
[[nodiscard]] bool has_claimed_children(tree const& target);

/// Allocates an array's buffers and fills them with valid contents.
/// @return Whether the rows are few enough
[[nodiscard]] bool fill_buffers(tree& target, format_info const& format, ArrowArray& array);

/// Fills the run ends of a run-end encoded array.
void fill_run_ends(tree& target, ArrowArray const& runs, format_info const& ends_format);

}  // namespace cudf_arrow_bridge::fuzz
