// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/copies.hpp>
#include <cudf_arrow_bridge/schema.hpp>
#include <cudf_arrow_bridge/visibility.hpp>

#include <cudf/column/column.hpp>
#include <cudf/column/column_view.hpp>
#include <cudf/table/table_view.hpp>

#include <rmm/resource_ref.hpp>

#include <cuda/stream>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cudf_arrow_bridge {

/// @addtogroup import Import
/// @{

/// The checks of an array before it is used.
enum class validation : std::int8_t {
  /// The C structs, and in host memory the first and last offset of each column. O(columns).
  minimal,
  /// Also the contents of the buffers: offsets, views, run ends, dictionary indices, null counts,
  /// and that strings are UTF-8. Reads every row on the CPU; device memory is copied to the host
  /// first, which waits.
  full
};

/// Options of `from_arrow_device_column` and `from_arrow_device_table`.
struct import_options {
  /// Which buffers are adopted and which are copied. `always` copies all buffers to the current
  /// device (to host memory without a GPU). Memory of another device is accepted only with
  /// `always`.
  copy_policy copy{copy_policy::as_needed};
  /// The checks. Arrow's structs have no buffer sizes, so producers are always trusted to have
  /// allocated enough.
  validation validate{validation::minimal};
  /// Rewrite nulls as libcudf expects them: children of a null struct are null, null lists and
  /// strings are empty. The first rewrites null masks only; the second copies list and string
  /// columns in which a null row is not empty. Other columns are unchanged. Without it, the lengths
  /// of null rows, and in device memory the bytes of `arrow.bool8`, are not checked, which on a GPU
  /// saves a synchronization.
  bool sanitize{true};
  /// Borrow columns that need no conversion from the producer, instead of creating a
  /// `cudf::column`. Only fixed-width and string columns can be borrowed. Cheaper for tables of
  /// many columns and for many small tables, for which creating column objects dominates the cost
  /// of an import.
  bool borrow{false};
};

/**
 * @brief An imported column, which keeps its memory alive: a `cudf::column`, or borrowed buffers.
 *
 * The buffers of `storage` are the producer's memory, adopted through a memory resource. Where the
 * first mask bit is not at a boundary of a 32-bit word, `storage` also has the up to 31 rows before
 * it, and `offset` skips them as in any slice of libcudf. `storage->null_count()` counts the nulls
 * of the imported rows only.
 *
 * With `import_options::borrow`, `storage` may be null. The column is then a view.
 */
struct CUDF_ARROW_BRIDGE_EXPORT imported_column {
  std::unique_ptr<cudf::column> storage{};  ///< rows `[0, offset + size)`; null: borrowed
  cudf::size_type offset{0};                ///< rows before the first imported one
  cudf::size_type size{0};                  ///< imported rows
  /// Buffers that were allocated because the producer's could not be adopted, without the rows that
  /// `sanitize` rewrites.
  std::vector<copied_buffer> copied{};

  /// Keeps the producer's array alive; null: not borrowed. After the destruction of all copies, the
  /// array is released when the work that is then enqueued on the stream of the import is done.
  std::shared_ptr<void const> owner{};
  cudf::column_view borrowed{};  ///< the imported rows of a borrowed column
  std::int64_t data_size{0};     ///< size in bytes of the data buffer of a borrowed column

  /// @return A view of the imported rows; valid during the lifetime of `storage` or `owner`
  [[nodiscard]] cudf::column_view view() const;
};

/// An imported record batch; each column may have its own offset.
struct CUDF_ARROW_BRIDGE_EXPORT imported_table {
  std::vector<imported_column> columns;  ///< the columns, in order
  cudf::size_type num_rows{0};           ///< rows, known even without columns

  /// @return A view of all columns; valid during their lifetime
  [[nodiscard]] cudf::table_view view() const;
};

/**
 * @brief Imports an array as a column over the producer's memory.
 *
 * Supports the types of the type table. The structs are compared before any pointer in them is
 * followed. Then `array` is moved, and its `release` is called once, when the last buffer that was
 * adopted from it is freed.
 *
 * Device memory is released in stream order: work on the stream that a buffer is freed on may still
 * read it, so `release` is called after that work is done. That is when the last buffer is freed,
 * if the stream is idle then; otherwise later, by a thread of the library or by a later import. Do
 * not free a buffer or import an array while holding a lock that a producer's `release` takes.
 *
 * @note If this throws because a check of the structs failed, the caller still owns `array`. After
 * other errors (out of memory, CUDA) it may have been moved and released; `array->array.release` is
 * then null.
 *
 * @throws cudf::data_type_error for a type that is not supported
 * @throws std::invalid_argument for structs that contradict each other or the specification, that
 *   are nested more than 64 levels deep, or that are more than 1 048 576 in all; for columns that
 *   cannot be adopted, if `options.copy` is `never`
 * @throws std::overflow_error for more rows or offsets than `cudf::size_type` holds
 * @throws std::bad_alloc if memory runs out, also where a small array expands to many rows: views
 *   and run-end encoded arrays may repeat values, at each level
 *
 * @param schema Schema of the array; only read
 * @param array Array to adopt; marked released after success
 * @param options Options of the import
 * @param stream Stream that is made to wait for the array's event, and that conversions run on. It
 *   must outlive the column and, if the array is copied or uploaded, its pending release: see
 *   `drain_releases`
 * @param mr Resource for converted buffers, and for adopted buffers that are resized later. Without
 *   a GPU it has to allocate host memory, like `host_memory_resource`
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT imported_column
from_arrow_device_column(ArrowSchema const& schema,
                         ArrowDeviceArray* array,
                         import_options const& options,
                         cuda::stream_ref stream,
                         rmm::device_async_resource_ref mr);

/**
 * @brief Imports a struct array as a table; the struct's offset and length apply to each column.
 *
 * @throws std::invalid_argument also if the schema is not a struct or the struct itself has nulls
 *
 * @copydetails from_arrow_device_column
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT imported_table
from_arrow_device_table(ArrowSchema const& schema,
                        ArrowDeviceArray* array,
                        import_options const& options,
                        cuda::stream_ref stream,
                        rmm::device_async_resource_ref mr);

/**
 * @brief Whether an import on the current device can share the memory of columns.
 *
 * It can share memory of the current device and pinned memory. Without a GPU it can share CPU
 * memory.
 *
 * @throws std::invalid_argument if the columns are in memory of different kinds or devices
 * @throws rmm::cuda_error if `cudaPointerGetAttributes` fails
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT bool can_share(std::span<cudf::column_view const> columns);

/**
 * @brief Reduces a struct array to some of its children, in place and without copying anything.
 *
 * The result owns the whole array: its release releases the producer's array, including the other
 * children. Import it with a schema of the same fields in the same order. The other children are
 * not read.
 *
 * @throws std::invalid_argument if the array is released, or has another number of children than
 *   the schema; the array is then unchanged
 * @throws std::bad_alloc if memory runs out; the array is then unchanged
 *
 * @param schema Schema of the whole array; only read
 * @param array Array to reduce; the caller keeps ownership
 * @param positions Indices of the children, each at most once
 */
CUDF_ARROW_BRIDGE_EXPORT void select_children(ArrowSchema const& schema,
                                              ArrowDeviceArray* array,
                                              std::vector<std::size_t> const& positions);

/**
 * @brief Imports arrays of one schema, which is copied, checked and parsed only once.
 *
 * Meant for streams of small batches. Immutable, so any number of threads may use it. Cheap to
 * copy.
 */
class CUDF_ARROW_BRIDGE_EXPORT array_importer {
 public:
  /**
   * @throws cudf::data_type_error for a type that is not supported
   * @throws std::invalid_argument for a schema that contradicts itself or the specification
   *
   * @param schema Schema of all arrays; only read
   */
  explicit array_importer(ArrowSchema const& schema);

  /// @return The schema; valid during the lifetime of the importer or a copy of it
  [[nodiscard]] shared_schema const& schema() const noexcept;

  /// @return Whether the schema is equal to this one, as `equal_schemas` says
  [[nodiscard]] bool has_schema(ArrowSchema const& schema) const;

  /// Checks an array as an import with `validation::minimal` does, for other readers of the array.
  /// The contents of buffers are only read if the device type is ARROW_DEVICE_CPU. The caller keeps
  /// ownership of the array.
  /// @throws std::invalid_argument, std::overflow_error as `import_array`
  void check(ArrowDeviceArray* array, bool is_table) const;

  /// Like `from_arrow_device_table` if `is_table`. Otherwise like `from_arrow_device_column`; the
  /// result then has one column.
  [[nodiscard]] imported_table import_array(ArrowDeviceArray* array,
                                            bool is_table,
                                            import_options const& options,
                                            cuda::stream_ref stream,
                                            rmm::device_async_resource_ref mr) const;

 private:
  struct state;
  std::shared_ptr<state const> state_;
};

/// @}

}  // namespace cudf_arrow_bridge
