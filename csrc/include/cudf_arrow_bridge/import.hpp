// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/visibility.hpp>

#include <cudf/column/column.hpp>
#include <cudf/table/table_view.hpp>

#include <rmm/resource_ref.hpp>

#include <cuda/stream>

#include <cstdint>
#include <memory>
#include <vector>

namespace cudf_arrow_bridge {

/// How much of an array is checked before it is used.
enum class validation : std::int8_t {
  /// The C structs, and in host memory the first and last offsets: costs nothing worth mentioning.
  minimal,
  /// In addition what the buffers hold: all offsets, views, run ends, dictionary indices and null
  /// counts, and that strings and names are UTF-8. Reads every row on the CPU; memory of a device
  /// is copied to the host for it, which waits.
  full
};

/// Knobs of `from_arrow_device_column` and `from_arrow_device_table`.
struct import_options {
  /// Copy all buffers to the current device (to host memory without a GPU) instead of adopting
  /// them, which memory of another device needs.
  bool copy{false};
  /// Checks of the contents; Arrow's structs say nothing of how large buffers are, so a producer is
  /// trusted in that whatever is asked for.
  validation validate{validation::minimal};
  /// Leave nested columns as libcudf expects them: nulls of a struct pushed into its children's
  /// masks, null lists and strings empty. Only masks are rewritten for the former, and nothing
  /// where the producer left it so; lists and strings are copied where a null one is not empty.
  /// Turn it off for producers that are known to be clean, which saves looking: at the lengths of
  /// null strings and lists, and on a GPU waiting for what was seen.
  bool sanitize{true};
};

/**
 * @brief An imported column: owned storage and the rows of it that arrived.
 *
 * The buffers of `storage` are the producer's memory, adopted through a memory resource. A slice
 * whose mask begins within a word keeps up to 31 rows before it; `offset` skips them, as in any
 * slice of libcudf. `storage->null_count()` counts the nulls of the rows that arrived.
 */
struct CUDF_ARROW_BRIDGE_EXPORT imported_column {
  std::unique_ptr<cudf::column> storage;  ///< rows `[0, offset + size)`
  cudf::size_type offset{0};              ///< rows of `storage` before the first one that arrived
  cudf::size_type size{0};                ///< rows that arrived

  /// @return A view of the rows that arrived; valid while `storage` lives
  [[nodiscard]] cudf::column_view view() const;
};

/// An imported record batch; columns may have offsets of their own.
struct CUDF_ARROW_BRIDGE_EXPORT imported_table {
  std::vector<imported_column> columns;
  cudf::size_type num_rows{0};  ///< rows, also where there is no column

  /// @return A view of all columns; valid while they live
  [[nodiscard]] cudf::table_view view() const;
};

/**
 * @brief A column of flat values or strings where the producer has it, or what had to be made of
 * one.
 *
 * Borrowed rows are what a `cudf::column_view` says, and how large its buffers are.
 */
struct CUDF_ARROW_BRIDGE_EXPORT borrowed_column {
  cudf::data_type type{};
  cudf::size_type offset{0};  ///< rows in the buffers before the first one that arrived
  cudf::size_type size{0};    ///< rows that arrived
  cudf::size_type null_count{0};
  void const* data{nullptr};
  std::int64_t data_size{0};       ///< bytes
  void const* mask{nullptr};       ///< null: no row is null
  std::int64_t mask_size{0};       ///< bytes
  void const* offsets{nullptr};    ///< of strings, from the first row in the buffers on
  std::int64_t offsets_size{0};    ///< bytes
  cudf::data_type offsets_type{};  ///< INT32 or INT64
  imported_column imported{};      ///< with a storage: this is the column, and nothing is borrowed

  /// @return A view of the rows that arrived; valid while the table's `owner` and `imported` live
  [[nodiscard]] cudf::column_view view() const;
};

/// A record batch of which flat columns and strings are borrowed where they can be used as they
/// are.
struct CUDF_ARROW_BRIDGE_EXPORT borrowed_table {
  std::vector<borrowed_column> columns;
  cudf::size_type num_rows{0};  ///< rows, also where there is no column
  /// Keeps what is borrowed; gives it back for when the stream of the import has come so far.
  std::shared_ptr<void const> owner;

  /// @return A view of all columns; valid while these and `owner` live
  [[nodiscard]] cudf::table_view view() const;
};

/**
 * @brief Imports an array as an owning column over the producer's memory.
 *
 * Takes what the type table says. The structs are checked against each other before any pointer in
 * them is followed; then `array` is moved and its `release` is called when the last buffer that
 * came from it is freed, by whichever path ends.
 *
 * Device memory is released in stream order: work enqueued on the stream that a buffer is freed on
 * may still read it, so `release` is called after that, from a thread of the library.
 *
 * @note If this throws because of what it found in the structs, `array` is still the caller's;
 * otherwise (out of memory, CUDA) it may have been moved and released. `array->array.release`
 * tells.
 *
 * @throws cudf::data_type_error for a type that libcudf or this bridge does not take
 * @throws std::invalid_argument for structs that contradict each other or the specification, that
 *   lie more than 64 levels below each other, or that are more than 1 048 576 in all
 * @throws std::overflow_error for more rows or offsets than `cudf::size_type` holds
 * @throws std::bad_alloc also where a small array stands for many rows, as views and runs may, each
 *   level for as many as `cudf::size_type` holds
 *
 * @param schema Schema of the array; only read
 * @param array Array to adopt; released after success
 * @param options See there
 * @param stream Made to wait for the array's event; conversions run on it. It must outlive the
 *   column, and where the array is copied or uploaded also its pending release: see
 *   `drain_releases`
 * @param mr Resource for converted buffers and for whatever grows later
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT imported_column
from_arrow_device_column(ArrowSchema const& schema,
                         ArrowDeviceArray* array,
                         import_options const& options,
                         cuda::stream_ref stream,
                         rmm::device_async_resource_ref mr);

/**
 * @brief Imports a struct array as a table, its own offset and length applied to each column.
 *
 * @throws std::invalid_argument also if the schema is no struct or the struct itself has nulls
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
 * @brief Imports a struct array as a table, but makes no `cudf::column` that can do without.
 *
 * For tables of many columns, and for many small ones, where making these is what an import costs.
 *
 * @copydetails from_arrow_device_table
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT borrowed_table
borrow_arrow_device_table(ArrowSchema const& schema,
                          ArrowDeviceArray* array,
                          import_options const& options,
                          cuda::stream_ref stream,
                          rmm::device_async_resource_ref mr);

/**
 * @brief Imports arrays of one schema, which is copied, checked and parsed once.
 *
 * What a stream of small batches is best imported with. Immutable, so that any number of threads
 * may use it, and cheap to copy.
 */
class CUDF_ARROW_BRIDGE_EXPORT array_importer {
 public:
  /**
   * @throws cudf::data_type_error for a type that libcudf or this bridge does not take
   * @throws std::invalid_argument for a schema that contradicts itself or the specification
   *
   * @param schema Schema of all arrays; only read
   */
  explicit array_importer(ArrowSchema const& schema);

  /// As `from_arrow_device_column`.
  [[nodiscard]] imported_column column(ArrowDeviceArray* array,
                                       import_options const& options,
                                       cuda::stream_ref stream,
                                       rmm::device_async_resource_ref mr) const;

  /// As `from_arrow_device_table`.
  [[nodiscard]] imported_table table(ArrowDeviceArray* array,
                                     import_options const& options,
                                     cuda::stream_ref stream,
                                     rmm::device_async_resource_ref mr) const;

  /// As `borrow_arrow_device_table`.
  [[nodiscard]] borrowed_table borrow_table(ArrowDeviceArray* array,
                                            import_options const& options,
                                            cuda::stream_ref stream,
                                            rmm::device_async_resource_ref mr) const;

 private:
  struct state;
  std::shared_ptr<state const> state_;
};

}  // namespace cudf_arrow_bridge
