// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuzz/random.hpp"
#include "testing/value.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <nanoarrow/nanoarrow.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
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

  /// Sets counts and pointers in the structs to the vectors.
  void link();
};

/// Kind of a buffer's contents, which determines the valid values.
enum class content : std::int8_t {
  bits,          ///< validity or bools
  values,        ///< any bytes
  text_offsets,  ///< ascending, within the bytes of buffer 2
  list_offsets,  ///< ascending, within the child
  list_views,    ///< offsets or sizes of list views
  views,         ///< string views
  view_sizes,    ///< sizes of the buffers that string views point into
  indices,       ///< of a dictionary
  run_ends,      ///< ascending, up to the length of the parent
};

/// A buffer, and the rows that it has memory for.
struct block {
  std::byte* memory{nullptr};
  std::size_t size{0};
  content kind{};
  std::int64_t row_bits{8};
  std::int64_t first_row{0};
  std::int64_t end_row{0};
};

/// A type of nanoarrow and its buffers.
struct layout {
  ArrowType type{NANOARROW_TYPE_UNINITIALIZED};
  ArrowLayout buffers{};
  bool is_indices{false};

  /// Flat formats that nanoarrow rejects have a validity buffer and values of 32 bytes.
  explicit layout(ArrowSchema const& schema);

  [[nodiscard]] bool is_view() const
  { return type == NANOARROW_TYPE_STRING_VIEW || type == NANOARROW_TYPE_BINARY_VIEW; }

  [[nodiscard]] content content_of(std::int64_t slot, bool is_run_ends) const;
};

/**
 * @brief A producer's structs and all their memory.
 *
 * Each buffer has exactly the size of its rows, so that AddressSanitizer detects reads past it.
 * Release poisons the memory for AddressSanitizer, as freeing would.
 */
class tree {
 public:
  explicit tree(random_source& source) : random{source} {}

  tree(tree const&)            = delete;
  tree& operator=(tree const&) = delete;
  ~tree();

  random_source& random;
  std::vector<std::unique_ptr<node>> nodes;  ///< the root is node 0
  node* spare{nullptr};          ///< the last node, not part of the tree; for insertions
  std::int64_t num_levels{0};    ///< levels of the valid tree, shared ones counted repeatedly
  std::int64_t num_bytes{0};     ///< of all blocks
  bool is_corrupted{false};      ///< whether contents were changed: needs full validation
  bool is_readable{true};        ///< whether all buffers that nanoarrow reads have memory
  int num_released{0};           ///< calls of the root's release
  int num_children_released{0};  ///< calls of the others' release; must be 0

  /// Copies a valid schema and an array that nanoarrow built.
  node& copy(ArrowSchema const& schema, ArrowArray& array, bool is_run_ends = false);

  node& add_node();

  [[nodiscard]] node& root() { return *nodes.front(); }

  /// @return A node of the tree, but not the spare one
  [[nodiscard]] node& any_node();

  std::byte* allocate(std::size_t size);

  /// Allocates memory for rows `first_row` to `end_row`. `address` is set to where row 0 would be,
  /// so that a buffer for rows 1'000'000 to 1'000'010 needs memory only for 10 rows.
  block const& add_rows(content kind,
                        std::int64_t row_bits,
                        std::int64_t first_row,
                        std::int64_t end_row,
                        void const** address);

  /// Copies a string of the schema, which may be read after the array's release.
  char const* text(std::string_view text);

  /// @return Null if no buffer is at the address
  [[nodiscard]] block const* find(void const* address) const;

  /// Registers a buffer at an address within a block.
  void add_alias(block const& alias) { blocks_[alias.memory] = alias; }

  /// Makes AddressSanitizer report accesses to the array's memory, or permit them again.
  void poison() const;
  void unpoison() const;

 private:
  void for_each_span(void function(void const volatile*, std::size_t)) const;

  std::unordered_map<void const*, block> blocks_;
  std::vector<std::pair<std::byte*, std::size_t>> allocations_;
  std::vector<std::unique_ptr<char[]>> texts_;
};

/// A valid array and its values.
struct valid_array {
  test::shape type;
  test::rows values;
  nanoarrow::UniqueSchema schema;
  mutable nanoarrow::UniqueArray array;

  /// Draws a type that can be imported, and values; slices each level.
  explicit valid_array(random_source& random);

  /// Fills an empty tree with a copy.
  void copy_to(tree& target) const;
};

/**
 * @brief Fills an empty tree with an extreme one: deep, wide, or with nodes that are children of
 * their parent several times.
 */
void generate_extreme(tree& target);

/**
 * @brief Makes one random change to a tree or its device struct, which mostly invalidates it.
 *
 * Buffer contents are changed only where validation can detect it.
 *
 * @param device The device struct, whose array is not read
 */
void mutate(tree& target, ArrowDeviceArray& device);

/// Makes one random change to the schema. It may change arrays too, so they must not be used after.
void mutate_schema(tree& target);

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

}  // namespace cudf_arrow_bridge::fuzz
