// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/owners.hpp>
#include <cudf_arrow_bridge/schema.hpp>
#include <cudf_arrow_bridge/visibility.hpp>

#include <cudf/column/column_view.hpp>
#include <cudf/table/table_view.hpp>

#include <rmm/resource_ref.hpp>

#include <cuda/stream>

#include <memory>
#include <string_view>
#include <vector>

namespace cudf_arrow_bridge {

namespace detail {
struct array_tree;
}

/// One buffer of an exported array, for people and tests; sizes are the bytes that Arrow reads.
struct buffer_info {
  std::string_view name;  ///< "validity", "data", "offsets", "views" or "sizes"
  void const* address;    ///< null where the buffer is absent
  std::int64_t size;      ///< bytes
  bool zero_copy;         ///< whether it is the source's own memory
};

/// Knobs of `to_arrow_device`.
struct export_options {
  /// Copy the masks of slices that begin within a byte, so that no array has an offset.
  bool compact{false};
  /// Label managed memory as plain CUDA memory, for consumers that know no other.
  bool managed_as_cuda{false};
};

/**
 * @brief A column or table, laid out as Arrow wants it, with shared ownership of all its buffers.
 *
 * Cheap to copy: copies share one immutable tree. Each call of `to_arrow` makes one more live C
 * struct over it; the tree, and with it the source, goes when the last of them is gone.
 */
class CUDF_ARROW_BRIDGE_EXPORT device_array {
 public:
  /// An empty handle, as left by `reset`.
  device_array() = default;

  /**
   * @brief Makes an `ArrowDeviceArray` that shares ownership of the buffers.
   *
   * Its release callback may be called from any thread, never throws, and leaves children that a
   * consumer moved out usable until they are released themselves.
   */
  [[nodiscard]] unique_device_array to_arrow() const;

  /**
   * @brief The same array in host memory: itself if it is there, else a copy.
   *
   * Waits for the copies, and once more before them if there are strings, whose sizes are data.
   *
   * @throws rmm::cuda_error if a copy fails
   *
   * @param stream Stream that the copies are enqueued on; made to wait for the array's event
   */
  [[nodiscard]] device_array to_host(cuda::stream_ref stream) const;

  /**
   * @brief Blocks until the data is ready, for readers that cannot wait for an event.
   *
   * @throws rmm::cuda_error if the work that makes it has failed
   */
  void wait() const;

  /// @return Whether this handle was reset (or never filled)
  [[nodiscard]] bool is_released() const noexcept { return tree_ == nullptr; }

  /// Drops this handle's share.
  void reset() noexcept { tree_.reset(); }

  [[nodiscard]] memory_location location() const;  ///< Where the buffers live
  [[nodiscard]] std::int64_t length() const;       ///< Rows
  [[nodiscard]] std::int64_t null_count() const;   ///< Null rows; -1 where nobody counted
  [[nodiscard]] std::int64_t offset() const;       ///< `ArrowArray.offset`
  [[nodiscard]] std::int64_t num_children()
    const;  ///< Children, a dictionary's values not among them
  [[nodiscard]] device_array child(std::int64_t index) const;  ///< A handle on one child
  [[nodiscard]] bool has_dictionary() const;      ///< Whether there are dictionary values
  [[nodiscard]] device_array dictionary() const;  ///< A handle on the dictionary's values

  /**
   * @brief The buffers of this array, without its children's.
   *
   * The size of a string's data is read from its last offset: on device memory that waits for the
   * data and for the copy of a scalar.
   */
  [[nodiscard]] std::vector<buffer_info> buffers() const;

 private:
  friend struct detail::array_tree;
  device_array(std::shared_ptr<detail::array_tree const> tree, std::size_t node) noexcept;

  std::shared_ptr<detail::array_tree const> tree_;
  std::size_t node_{0};
};

/**
 * @brief Exports a column without copying any buffer whose layout Arrow shares.
 *
 * Costs O(columns), whatever the number of rows. Slices leave with shifted pointers and no offset
 * wherever that is free; a mask that begins within a byte makes `ArrowArray.offset` carry the rest
 * (below 8), or is copied if the options ask for it. Rows of a struct's children and of a
 * dictionary's indices are the parent's, as in libcudf, which ignores offsets of their own.
 *
 * @throws cudf::data_type_error if a column has a type that Arrow lacks
 * @throws std::invalid_argument if a column lacks a child that its type needs, or if buffers live
 *   in different places
 *
 * @param column Column to export
 * @param owner Keeps the memory of `column` alive; dropped from whatever thread releases last
 * @param options See there
 * @param stream Stream that conversions are enqueued on; its work so far is what consumers wait
 *   for. The host waits for it in one case: pageable host memory, which has no event, on a machine
 *   where a device's kernels may be writing to it (`cudaDevAttrPageableMemoryAccess`). Converted
 *   buffers are freed on it, so it must outlive the export and its pending releases: see
 *   `drain_releases`.
 * @param mr Resource for converted buffers, and for what is needed to convert them; on the device
 *   that the column is on, which is made current. The resource of the device that is current now
 *   stands for that of the column's device, as set in rmm; any other is taken as it is. Where that
 *   of a pinned or managed column gives plain device memory, the array is labelled as such.
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT device_array
to_arrow_device(cudf::column_view const& column,
                std::shared_ptr<void const> owner,
                export_options const& options,
                cuda::stream_ref stream,
                rmm::device_async_resource_ref mr);

/**
 * @brief Exports a column as a schema says that was made for it with `make_schema`.
 *
 * What a request changed is relabelled where the layouts agree, and converted where they don't; the
 * host then waits for the GPU where values, null counts or sizes decide. Converting dictionaries,
 * and finding out whether values fit a narrower type, take time that grows with the number of rows.
 *
 * @throws std::invalid_argument as above; if the schema is of another column; if values or nulls
 *   contradict the schema that was requested
 * @throws std::overflow_error if offsets or a dictionary's indices do not fit the requested width
 *
 * @param column Column to export
 * @param schema What to export it as
 * @param owner As above
 * @param options As above
 * @param stream As above
 * @param mr As above
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT device_array
to_arrow_device(cudf::column_view const& column,
                shared_schema const& schema,
                std::shared_ptr<void const> owner,
                export_options const& options,
                cuda::stream_ref stream,
                rmm::device_async_resource_ref mr);

/**
 * @brief Exports a table as a struct array, likewise.
 *
 * @param table Table to export; its number of rows counts also where it has no columns
 * @param owner As above
 * @param options As above
 * @param stream As above
 * @param mr As above
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT device_array
to_arrow_device(cudf::table_view const& table,
                std::shared_ptr<void const> owner,
                export_options const& options,
                cuda::stream_ref stream,
                rmm::device_async_resource_ref mr);

/**
 * @brief Exports a table as a schema says that was made for it, likewise.
 *
 * @param table Table to export
 * @param schema What to export it as
 * @param owner As above
 * @param options As above
 * @param stream As above
 * @param mr As above
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT device_array
to_arrow_device(cudf::table_view const& table,
                shared_schema const& schema,
                std::shared_ptr<void const> owner,
                export_options const& options,
                cuda::stream_ref stream,
                rmm::device_async_resource_ref mr);

}  // namespace cudf_arrow_bridge
