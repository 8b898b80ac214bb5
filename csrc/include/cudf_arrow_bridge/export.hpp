// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/copies.hpp>
#include <cudf_arrow_bridge/fences.hpp>
#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/owners.hpp>
#include <cudf_arrow_bridge/schema.hpp>
#include <cudf_arrow_bridge/visibility.hpp>

#include <cudf/column/column_view.hpp>
#include <cudf/table/table_view.hpp>

#include <rmm/resource_ref.hpp>

#include <cuda/stream>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace cudf_arrow_bridge {

namespace detail {
struct array_tree;
}  // namespace detail

/// @addtogroup export Export
/// @{

/// Describes one buffer of an exported array. `size` is the size that Arrow reads, not the
/// allocated size.
struct buffer_info {
  std::string_view name;    ///< "validity", "data", "offsets", "views" or "sizes"
  void const* address;      ///< null where the buffer is absent
  std::int64_t size;        ///< bytes
  std::string_view reason;  ///< why it is not the source's own memory; empty if it is
};

/**
 * @brief A column, or the columns of a table, to export.
 *
 * Views convert to it implicitly. It owns nothing: the view must outlive it.
 */
struct export_input {
  std::span<cudf::column_view const> columns;  ///< one, unless this is a table
  cudf::size_type num_rows{0};                 ///< rows, known even without columns
  bool is_table{true};                         ///< false for a column

  /// A table without columns or rows.
  export_input() = default;

  /// A column.
  export_input(cudf::column_view const& column)
    : columns{&column, 1}, num_rows{column.size()}, is_table{false}
  {
  }

  /// A table.
  export_input(cudf::table_view const& table)
    : export_input{{table.begin(), table.end()}, table.num_rows()}
  {
  }

  /// A table of columns that all have `size` rows.
  export_input(std::span<cudf::column_view const> all, cudf::size_type size)
    : columns{all}, num_rows{size}
  {
  }
};

/// Options of `to_arrow_device`.
struct export_options {
  /// Schema of `make_schema` for the columns. If a requested type has the same buffers as the
  /// column, only the schema differs; otherwise buffers are converted. If empty, each column is
  /// exported with the plain type of its libcudf type.
  shared_schema schema{};
  /// Copy the null masks of slices that do not begin at a multiple of 512 rows, so that
  /// `ArrowArray.offset` is 0.
  bool compact{false};
  /// Report managed memory as `ARROW_DEVICE_CUDA`, for consumers that do not know
  /// `ARROW_DEVICE_CUDA_MANAGED`.
  bool managed_as_cuda{false};
  /// Which buffers are shared and which are copied. `always` copies the exported buffers on the
  /// stream; for strings in device memory it waits for their sizes.
  copy_policy copy{copy_policy::as_needed};
  /// Keeps `stream` and `mr` alive as long as the copied buffers, if `copy` is `always`. The result
  /// then has no reference to the owner of the source.
  std::shared_ptr<void const> copy_owner{};
  /// Memory of the columns that was allocated for this export: buffers in it are described as
  /// copies. May be null.
  std::shared_ptr<std::vector<copied_buffer> const> copied{};
  /// Whether all memory of the owner is freed in the order of `stream`, like columns created on it.
  /// An import of the array then makes `stream` wait for the work that reads the memory and
  /// releases the owner immediately; otherwise the owner is kept until that work is done.
  bool owner_frees_on_stream{false};
};

/**
 * @brief A column or table in Arrow's layout, with shared ownership of all its buffers.
 *
 * Cheap to copy: copies share one immutable tree. Each call of `to_arrow` creates another C struct
 * that shares the tree. The tree and the exported columns are freed with the last of them.
 *
 * All members except `is_released` and `reset` throw std::invalid_argument for an empty handle.
 */
class CUDF_ARROW_BRIDGE_EXPORT device_array {
 public:
  /// An empty handle, as left by `reset`.
  device_array() = default;

  /**
   * @brief Creates an `ArrowDeviceArray` that shares ownership of the buffers.
   *
   * Its release callback may be called from any thread and never throws. It is not ordered after
   * the consumer's stream, because Arrow leaves this to the consumer: before the release, wait for
   * the work that reads the memory, or make the export's stream wait for it. Children that a
   * consumer moved out stay valid until they are released.
   */
  [[nodiscard]] unique_device_array to_arrow() const;

  /**
   * @brief Creates an `ArrowArray` in memory that the CPU can read, when the data is ready.
   *
   * Shares ownership of the buffers as `to_arrow` does. CUDA memory is copied to host memory on the
   * stream of the array.
   *
   * @throws rmm::cuda_error as `to_host` and `wait`
   */
  [[nodiscard]] unique_array to_arrow_host() const;

  /**
   * @brief Returns the array in host memory: this array if it is already there, otherwise a copy.
   *
   * Waits for the copies. For strings it waits once more before, to read the last offsets, which
   * are the sizes.
   *
   * @throws rmm::cuda_error if a copy fails
   *
   * @param stream Stream for the copies; it is made to wait for the array's event first
   */
  [[nodiscard]] device_array to_host(cuda::stream_ref stream) const;

  /**
   * @brief Returns a copy with its own memory on the host or on the same device.
   *
   * Copies only its rows, with the elements and dictionary values that they may refer to. On a
   * device copies are enqueued; for strings it waits once, to read the last offsets, which are the
   * sizes.
   *
   * @throws rmm::cuda_error if CUDA fails
   *
   * @param owner An object that the copy keeps alive, such as the owner of `mr`; may be null
   * @param stream Stream for the copies; it is made to wait for the array's event first
   * @param mr Resource for the copies; determines the kind of device memory
   */
  [[nodiscard]] device_array copy(std::shared_ptr<void const> owner,
                                  cuda::stream_ref stream,
                                  rmm::device_async_resource_ref mr) const;

  /**
   * @brief Makes later work on `stream` wait for the data.
   *
   * @throws rmm::cuda_error if CUDA rejects the stream
   */
  void make_wait(cuda::stream_ref stream) const;

  /**
   * @brief Blocks until the data is ready, for consumers that cannot wait for a CUDA event.
   *
   * @throws rmm::cuda_error if the work that produces the data has failed
   */
  void wait() const;

  /**
   * @brief Returns whether the data is ready, without waiting.
   *
   * @throws rmm::cuda_error if the work that produces the data has failed
   */
  [[nodiscard]] bool is_ready() const;

  /**
   * @brief Adds a fence that is reached when the data is ready; for CPU memory immediately.
   *
   * The tree is kept alive until the data is ready, also if the fence is cancelled before. If a
   * reached fence had the last reference, `drain_releases` waits until the tree is freed.
   */
  fence_id add_fence(fence_set& fences) const;

  /// @return Whether this handle is empty
  [[nodiscard]] bool is_released() const noexcept { return tree_ == nullptr; }

  /// Releases this handle's reference.
  void reset() noexcept { tree_.reset(); }

  [[nodiscard]] memory_location location() const;  ///< Where the buffers live
  [[nodiscard]] std::int64_t length() const;       ///< Rows
  [[nodiscard]] std::int64_t null_count() const;   ///< Null rows
  [[nodiscard]] std::int64_t offset() const;       ///< `ArrowArray.offset`
  [[nodiscard]] std::int64_t num_children()
    const;  ///< Children, not counting a dictionary's values

  /**
   * @brief Returns a handle of one child.
   *
   * @throws std::out_of_range if there is no child of this index
   */
  [[nodiscard]] device_array child(std::int64_t index) const;

  /**
   * @brief Returns some rows of this array, over the same buffers.
   *
   * The column, or the columns of a table, get an `ArrowArray.offset`. If nulls have to be counted
   * in device memory, this waits.
   *
   * @throws std::out_of_range unless `offset` and `length` are rows of this array
   *
   * @param offset First row
   * @param length Number of rows
   * @param is_table Whether this is a table rather than a column of structs
   */
  [[nodiscard]] device_array slice(std::int64_t offset, std::int64_t length, bool is_table) const;

  /**
   * @brief Returns some children of this array, over the same buffers.
   *
   * @throws std::out_of_range if there is no child of one of these indices
   * @throws std::invalid_argument if this is not a struct array, as tables are
   *
   * @param indices The children, in the order of the result
   */
  [[nodiscard]] device_array select(std::span<std::size_t const> indices) const;

  /// @return A handle of the values of the dictionary; an empty one if there is none
  [[nodiscard]] device_array dictionary() const;

  /**
   * @brief Returns the buffers of this array, without those of its children.
   *
   * The size of string data is read from the last offset. On device memory the first call waits for
   * the data, and reads the sizes of all arrays of the export with one wait. They are kept.
   */
  [[nodiscard]] std::vector<buffer_info> buffers() const;

 private:
  friend struct detail::array_tree;
  device_array(std::shared_ptr<detail::array_tree const> tree, std::size_t node) noexcept;

  std::shared_ptr<detail::array_tree const> tree_;
  std::size_t node_{0};
};

/**
 * @brief Exports a column or a table without copying buffers whose layout is the same in Arrow. A
 * table is exported as a struct array.
 *
 * O(columns), whatever the number of rows, unless a schema requires more: converting dictionaries,
 * and checking whether values fit a narrower type, depend on the number of rows. The host waits for
 * the GPU if a conversion depends on values, null counts or sizes.
 *
 * A slice is exported with advanced buffer pointers. Its `ArrowArray.offset` is 0 if it has a fixed
 * width and no nulls, or begins at a multiple of 512 rows. Otherwise it is 1 to 32, so that the
 * mask begins with a word and libcudf reads the offsets of strings and lists correctly; with
 * `options.compact` it is 0, and the mask is copied. A struct's children and a dictionary's indices
 * are sliced by the parent's offset; as in libcudf, an offset of their own is ignored.
 *
 * @throws cudf::data_type_error if a column has a type that Arrow lacks
 * @throws std::invalid_argument if `input` is neither one column nor a table whose columns all have
 *   its number of rows, if a column lacks a child that its type needs, if buffers are in different
 *   kinds of memory or on different devices, if the schema was made for other columns, if values or
 *   nulls contradict the requested schema, if columns cannot be shared and `options.copy` is
 *   `never`, or if `mr` allocates memory of another device than the columns
 * @throws std::overflow_error if offsets or a dictionary's indices do not fit the requested width
 *
 * @param input Data to export; the number of rows of a table is kept also without columns
 * @param owner Keeps the memory of `input` alive; destroyed on the thread that releases last
 * @param options Options of the export
 * @param stream Stream for conversions. Consumers wait for the work that is enqueued on it. The
 *   host waits for it in one case: pageable host memory, which has no event, on a machine where
 *   kernels can write to it (`cudaDevAttrPageableMemoryAccess`). Converted buffers are freed on it,
 *   so it must outlive the export and its pending releases: see `drain_releases`.
 * @param mr Resource for converted buffers, of the columns' device, which is made current while it
 *   is used. If it is rmm's current resource of the current device, that of the columns' device is
 *   used instead. Temporary memory comes from rmm's current resource. If `mr` gives plain device
 *   memory for pinned or managed columns, the array is reported as `ARROW_DEVICE_CUDA`. Where there
 *   is no GPU it gives out host memory, as `host_memory_resource` does.
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT device_array
to_arrow_device(export_input const& input,
                std::shared_ptr<void const> owner,
                export_options const& options,
                cuda::stream_ref stream,
                rmm::device_async_resource_ref mr);

/// @}

}  // namespace cudf_arrow_bridge
