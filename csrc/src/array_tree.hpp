// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "array_layout.hpp"
#include "events.hpp"
#include "struct_block.hpp"

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

/// One array of an exported tree: exactly what its C struct will say.
struct array_node : tree_links {
  array_layout layout{array_layout::null};
  std::int64_t length{0};
  std::int64_t null_count{0};
  std::int64_t offset{0};
  std::array<void const*, 3> buffers{};
  std::vector<void const*> view_buffers{};  ///< all buffers of views, whose number varies
  std::array<bool, 3> converted{};
  std::int64_t element_bits{0};  ///< of the data buffer of a fixed layout
  std::int64_t view_bytes{0};    ///< of the data that views point into
  std::int64_t list_size{0};     ///< child rows for each row of fixed lists

  void write(ArrowArray& array) const noexcept;

  [[nodiscard]] std::size_t num_buffers() const noexcept
  {
    return layout == array_layout::views ? view_buffers.size()
                                         : static_cast<std::size_t>(detail::num_buffers(layout));
  }

  [[nodiscard]] void const*& buffer(std::size_t index)
  { return layout == array_layout::views ? view_buffers[index] : buffers[index]; }
};

/**
 * @brief An exported column or table: immutable once built, shared by all C structs made from it.
 */
struct array_tree {
  std::vector<array_node> nodes;  ///< the root first
  memory_location location;
  std::shared_ptr<void const> owner;            ///< of the source's buffers
  std::vector<rmm::device_buffer> conversions;  ///< buffers that the export made itself
  std::vector<std::unique_ptr<cudf::column const>> columns;  ///< columns that it made itself
  pooled_event ready;  ///< what consumers wait for; none for CPU memory

  /// Appends nodes that stand side by side. @return The index of the first
  std::size_t add_nodes(std::size_t count)
  {
    auto const first = nodes.size();
    nodes.resize(first + count);
    return first;
  }

  /// A handle for users on one node of `tree`.
  static device_array handle(std::shared_ptr<array_tree const> tree, std::size_t node = 0) noexcept
  { return {std::move(tree), node}; }

  /// Makes one live C struct over `tree`, starting at `node`.
  static unique_device_array to_arrow(std::shared_ptr<array_tree const> const& tree,
                                      std::size_t node);
};

}  // namespace cudf_arrow_bridge::detail
