// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arrays/node_list.hpp"
#include "base/array_layout.hpp"
#include "base/tree_links.hpp"
#include "cuda/ordering/events.hpp"
#include "cuda/ordering/thread_stamp.hpp"

#include <cudf_arrow_bridge/export.hpp>
#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/owners.hpp>

#include <cudf/column/column.hpp>

#include <rmm/device_buffer.hpp>

#include <cuda/stream>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace cudf_arrow_bridge::detail {

/// One array of an exported tree: what its C struct will say. Value-initialized, it is a null array
/// of no rows.
struct array_node : tree_links {
  array_layout layout;
  std::array<bool, 3> converted;
  std::uint32_t num_view_buffers;
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::array<void const*, 3> buffers;
  void const** view_buffers;  ///< all buffers of views, whose number varies; the tree's
  std::int64_t per_row;       ///< bits of the data of a fixed layout, child rows of fixed lists

  [[nodiscard]] std::size_t num_buffers() const noexcept
  {
    return layout == array_layout::views ? num_view_buffers
                                         : static_cast<std::size_t>(detail::num_buffers(layout));
  }

  [[nodiscard]] void const* const* first_buffer() const noexcept
  { return layout == array_layout::views ? view_buffers : buffers.data(); }

  [[nodiscard]] void const*& buffer(std::size_t index)
  { return layout == array_layout::views ? view_buffers[index] : buffers[index]; }
};

/// An exported column or table: immutable once built, shared by all C structs made from it.
struct array_tree {
  node_list<array_node> nodes;  ///< the root first
  memory_location location;
  std::shared_ptr<void const> owner;            ///< of the source's buffers
  std::vector<rmm::device_buffer> conversions;  ///< buffers that the export made itself
  std::vector<std::unique_ptr<cudf::column const>> columns;  ///< columns that it made itself
  pooled_event ready;  ///< what consumers wait for; none for CPU memory
  /// Whether it is recorded, and what the tree owns is freed, on a per-thread default stream.
  bool on_thread_stream{false};

  array_tree()                             = default;
  array_tree(array_tree const&)            = delete;
  array_tree& operator=(array_tree const&) = delete;
  ~array_tree();

  /// Appends nodes that stand side by side, for the caller to set. @return The index of the first
  std::size_t add_nodes(std::size_t count);

  /// Gives a node room for so many buffers, all null.
  void add_view_buffers(array_node& node, std::size_t count);

  /// A handle for users on one node of `tree`.
  static device_array handle(std::shared_ptr<array_tree const> tree, std::size_t node = 0) noexcept
  { return {std::move(tree), node}; }

  /// Makes one live C struct over `tree`, starting at `node`.
  static unique_device_array to_arrow(std::shared_ptr<array_tree const> const& tree,
                                      std::size_t node);

 private:
  thread_stamp made_on_;
  std::vector<std::unique_ptr<void const*[]>> view_buffers_;  ///< of all nodes
};

}  // namespace cudf_arrow_bridge::detail
