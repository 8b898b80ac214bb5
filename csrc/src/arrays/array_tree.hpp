// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/array_layout.hpp"
#include "compute/buffers.hpp"
#include "cuda/ordering/events.hpp"
#include "cuda/ordering/process.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/export.hpp>
#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/owners.hpp>

#include <cudf/column/column.hpp>

#include <rmm/device_buffer.hpp>
#include <rmm/resource_ref.hpp>

#include <cuda/stream>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {

/// A buffer that has a fixed number of bits for each row.
struct row_buffer {
  std::string_view name;
  std::int64_t bits;          ///< for each row
  std::int64_t more_rows{0};  ///< 1 for offsets, of which there is one more than rows

  /// @return The size in bytes for a number of rows; the largest integer if it would overflow
  [[nodiscard]] std::int64_t size(std::int64_t rows) const noexcept;
};

/// The place of the size of a data buffer, which an array stores: the last offset of strings, or
/// one of the sizes of the data buffers of views.
struct data_size {
  std::size_t buffer;
  stored_integer place;
};

/// One array of a tree: the contents of its C struct. Value-initialized, it is an empty
/// array of Arrow's null type.
struct array_node : tree_links {
  array_layout layout;
  std::array<std::string_view, 3>
    copied;  ///< for each buffer, why it is not shared with the source
  std::uint32_t num_view_buffers;
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::array<void const*, 3> buffers;
  void const** view_buffers;  ///< all buffers of the views layout, in memory of the tree
  /// fixed: bits of a value; fixed_lists: child rows of a list; layouts with offsets: one more than
  /// `extent`, 0 if that is not known
  std::int64_t per_row;

  /// @return Whether all data of strings, or all rows of a list's child, belong to this array
  [[nodiscard]] bool has_extent() const noexcept { return has_offsets(layout) && per_row > 0; }

  /// @return If so, the size of the data in bytes, or the number of rows of the child
  [[nodiscard]] std::int64_t extent() const noexcept { return per_row - 1; }

  void set_extent(std::int64_t size) noexcept
  {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    per_row             = size < most ? size + 1 : most;
  }

  [[nodiscard]] std::size_t num_buffers() const noexcept
  {
    return layout == array_layout::views ? num_view_buffers
                                         : static_cast<std::size_t>(detail::num_buffers(layout));
  }

  [[nodiscard]] void const* const* first_buffer() const noexcept
  { return layout == array_layout::views ? view_buffers : buffers.data(); }

  [[nodiscard]] void const*& buffer(std::size_t index)
  { return layout == array_layout::views ? view_buffers[index] : buffers[index]; }

  /// @return The first buffers of the array. The data buffers of strings and views, and the sizes
  /// of the latter, follow
  [[nodiscard]] std::vector<row_buffer> row_buffers() const;

  /// @param host Whether the array is in host memory
  /// @return The sizes of the data buffers of strings or views. A producer may omit the one offset
  /// of strings without rows; the place is then null.
  [[nodiscard]] std::vector<data_size> data_sizes(bool host) const;

  /// Reduces the array to some of its rows. Their null count is unknown if it depends on the mask.
  void slice(std::int64_t begin, std::int64_t size);
};

/// A column, table or tensor in Arrow's layout, exported, copied or viewed: immutable once built,
/// shared by all C structs made from it.
struct array_tree {
  std::deque<array_node> nodes;  ///< the root is node 0
  memory_location location;
  std::shared_ptr<void const> owner;               ///< keeps the source's buffers alive
  std::shared_ptr<array_tree const> derived_from;  ///< owns all buffers, if not null
  std::vector<rmm::device_buffer> conversions;     ///< buffers that were created for this tree
  std::vector<std::unique_ptr<cudf::column const>> columns;  ///< columns that the export created
  /// Created before the export; may be null.
  std::shared_ptr<std::vector<copied_buffer> const> copied;
  pooled_event ready;                       ///< `sync_event` of the structs; none for CPU memory
  cuda::stream_ref stream{cudaStream_t{}};  ///< on which `ready` was recorded; it frees the buffers
  bool is_message{false};                   ///< whether it has all rows of the body of a message
  /// Whether the memory of `owner` is also freed in the order of `stream`.
  bool is_freed_in_order{false};
  mutable std::mutex sizes_mutex;  ///< guards `sizes` and `lengths`, also while they are read
  /// The sizes of data that the arrays store, by their addresses. They are read for all nodes when
  /// the first of them is needed.
  mutable std::optional<std::unordered_map<void const*, std::int64_t>> sizes;
  /// The lengths of lists that were exported as tensors, by their first offset and their number.
  mutable std::map<std::pair<void const*, std::int64_t>, list_lengths> lengths;

  array_tree()                             = default;
  array_tree(array_tree const&)            = delete;
  array_tree& operator=(array_tree const&) = delete;
  ~array_tree();

  /// Creates a tree with the nodes of another tree, whose buffers it shares and keeps alive.
  static std::shared_ptr<array_tree> derive(std::shared_ptr<array_tree const> const& source);

  /// Appends siblings: empty arrays of the null type. @return The index of the first
  std::size_t add_nodes(std::size_t count);

  /// Gives a node of the views layout `count` buffers, all null.
  void add_view_buffers(array_node& node, std::size_t count);

  /// Counts the nulls of nodes with a null count of -1, which libcudf reads as no nulls. If there
  /// are such nodes in device memory, synchronizes once.
  void count_unknown_nulls(execution const& exec);

  /// Records `ready` after the work that is enqueued on a stream. The buffers are freed on this
  /// stream.
  void record_ready(cuda::stream_ref on);

  /// Creates the public handle of a node of `tree`.
  static device_array handle(std::shared_ptr<array_tree const> tree, std::size_t node = 0) noexcept
  { return {std::move(tree), node}; }

  /// The node of a handle, and its tree.
  struct place {
    std::shared_ptr<array_tree const> const& tree;
    std::size_t node;
  };

  /// @throws std::invalid_argument for an empty handle
  static place place_of(device_array const& handle);

  /// The stream that `ready` was recorded on, as the calling thread names it.
  [[nodiscard]] cuda::stream_ref stream_here() const { return creator_thread_.resolve(stream); }

  /**
   * @brief Builds a C struct for `node` and its descendants.
   *
   * Each array keeps the tree alive, so a consumer may move children out and release all of them in
   * any order and from any thread.
   */
  static unique_device_array to_arrow(std::shared_ptr<array_tree const> const& tree,
                                      std::size_t node);

  /// @return The tree of an array that `to_arrow` has built, which the array keeps alive; null for
  /// any other array
  [[nodiscard]] static array_tree const* tree_of(ArrowArray const& array) noexcept;

 private:
  thread_id creator_thread_;
  std::vector<std::unique_ptr<void const*[]>>
    view_buffers_;  ///< memory of all nodes' `view_buffers`
};

/**
 * @brief Copies a tree within host memory, to host memory from a device, or to a device.
 *
 * Copies the rows of the tree, starting at a byte boundary of its masks, with all elements and
 * dictionary values that they may refer to. The size of strings is in their last offsets. In device
 * memory these are read before the strings are copied, all together, with one synchronization.
 * Copies to the host synchronize and are done when this returns. Other copies are only enqueued.
 *
 * @throws std::invalid_argument for negative string offsets
 *
 * @param node Node of the source that becomes the root
 * @param target CPU memory, or CUDA memory of the current device
 */
std::shared_ptr<array_tree> copy_tree(array_tree const& source,
                                      std::size_t node,
                                      memory_location const& target,
                                      cuda::stream_ref stream,
                                      rmm::device_async_resource_ref mr);

/**
 * @brief Copies a tree within host memory or within a device, as an independent array.
 *
 * The copy is ready after the work that is then enqueued on the stream. The source is kept alive
 * until the copies are done.
 *
 * @throws std::invalid_argument as `copy_tree`
 *
 * @param source Tree to copy, ready on the stream
 * @param owner What the copy keeps, such as the owner of its memory resource
 * @param exec Where to work: on the host, or on the current device, which has the source
 */
std::shared_ptr<array_tree> copy_on_same_device(std::shared_ptr<array_tree const> const& source,
                                                std::size_t node,
                                                std::shared_ptr<void const> owner,
                                                execution const& exec);

}  // namespace cudf_arrow_bridge::detail
