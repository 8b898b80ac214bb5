// SPDX-License-Identifier: Apache-2.0
/// @file
/// Columns as tensors and back, for libraries with DLPack or the CUDA array interface.
#pragma once

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/copies.hpp>
#include <cudf_arrow_bridge/import.hpp>
#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/owners.hpp>
#include <cudf_arrow_bridge/visibility.hpp>

#include <rmm/resource_ref.hpp>

#include <cuda/stream>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

struct DLManagedTensor;
struct DLTensor;
struct DLManagedTensorVersioned;

namespace cudf_arrow_bridge {

/// @addtogroup tensor Tensors
/// @{

/// The kind of a tensor's elements. The values are DLPack's type codes.
enum class element_kind : std::uint8_t {
  integer          = 0,
  unsigned_integer = 1,
  floating         = 2,
  boolean          = 6  ///< a byte each, 0 or 1
};

/// The order of a tensor's elements in memory.
enum class tensor_order : std::int8_t {
  column_major,  ///< Fortran order: each column is contiguous
  row_major      ///< C order: each row is contiguous
};

/// The result of the import of a tensor.
enum class tensor_kind : std::int8_t {
  table,  ///< one dimension as a column, two as a table with a column for each column
  column  ///< one dimension as a column, more as a LIST column with a list for each row
};

/// Dense memory with a shape. Owns nothing.
struct tensor_view {
  void const* data{nullptr};            ///< the first element; null if there is none
  memory_location location{};           ///< kind and device of the memory
  element_kind kind{};                  ///< kind of the elements
  std::int64_t bits{0};                 ///< size of an element
  std::vector<std::int64_t> shape{};    ///< elements along each dimension
  std::vector<std::int64_t> strides{};  ///< step along each dimension, in elements
};

/**
 * @brief A tensor over the memory of an exported array, which it keeps alive.
 *
 * Cheap to copy: copies share the memory.
 */
class CUDF_ARROW_BRIDGE_EXPORT shared_tensor {
 public:
  /// An empty handle, which may only be assigned to, and has an empty `view`.
  shared_tensor() = default;

  /**
   * @brief Takes ownership of an array.
   *
   * @param view Tensor over the memory of the array
   * @param memory Array that owns the memory; its event marks when the data is ready
   * @param is_copy Whether the memory was copied for this tensor
   */
  shared_tensor(tensor_view view, unique_device_array&& memory, bool is_copy);

  /// @return The description of the tensor
  [[nodiscard]] tensor_view const& view() const noexcept { return view_; }

  /// Replaces the shape, and the strides in elements, by those of another view of the memory.
  void reshape(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) noexcept
  {
    view_.shape   = std::move(shape);
    view_.strides = std::move(strides);
  }

  /// @return Whether the memory was copied for this tensor, so that writing to it is safe
  [[nodiscard]] bool is_copy() const noexcept { return is_copy_; }

  /**
   * @brief Makes a stream of the memory's device wait for the data.
   *
   * @throws rmm::cuda_error if CUDA rejects the stream
   */
  void make_wait(cuda::stream_ref stream) const;

  /**
   * @brief Makes the stream on which the memory is freed wait for a consumer at the end.
   *
   * When the memory of this handle and of its tensors is released, `freed` is made to wait for the
   * work that is enqueued on `reader`.
   *
   * @throws rmm::cuda_error if CUDA cannot create an event
   *
   * @param freed Stream of the export
   * @param reader Stream of the consumer. Both must outlive the memory, as default streams do.
   */
  void release_after(cuda::stream_ref freed, cuda::stream_ref reader);

  /**
   * @brief Blocks until the data is ready.
   *
   * @throws rmm::cuda_error if the work that produces the data has failed
   */
  void wait() const;

  /**
   * @brief Describes the tensor as a DLPack tensor that owns nothing.
   *
   * Its pointers are valid during the lifetime of this handle.
   *
   * @param tensor Struct to fill
   * @param device_type Device type of the tensor: that of the memory, or another valid one, such as
   *   CUDA for managed memory
   */
  void describe(DLTensor* tensor, ArrowDeviceType device_type) const noexcept;

  /**
   * @brief Creates a DLPack tensor that shares the memory. Its deleter may run on any thread.
   *
   * It is marked read-only, as Arrow's arrays are, unless it is a copy.
   *
   * @param device_type Device type of the tensor, as in `describe`
   * @param is_copy Whether the memory was copied for this tensor, in addition to `is_copy()`
   */
  [[nodiscard]] DLManagedTensorVersioned* to_dlpack_versioned(ArrowDeviceType device_type,
                                                              bool is_copy = false) const;

  /// Creates a tensor of DLPack before 1.0, which has no read-only flag.
  [[nodiscard]] DLManagedTensor* to_dlpack(ArrowDeviceType device_type) const;

 private:
  tensor_view view_;
  std::shared_ptr<unique_device_array const> memory_;
  bool is_copy_{false};
};

/**
 * @brief An array as a tensor: a column of numbers or of `arrow.bool8` has one dimension, a struct
 * or table of them two. Lists of one length add a dimension for each level of lists.
 *
 * Zero-copy for a column, and for a table whose columns are contiguous in memory, one after the
 * other. Other tables, and tables in row-major order, are copied on `stream`.
 *
 * Waits for the GPU if a column has a mask and its nulls were not counted, and once for each level
 * of lists without a fixed size, to compare their lengths.
 *
 * @throws cudf::data_type_error if the array cannot be a tensor: it has a type that tensors lack,
 *   columns of several types, lists of several lengths, or nulls, or needs a copy that `policy`
 *   forbids or that `mr` would allocate in another kind of memory. The caller then still owns
 *   `array`.
 *
 * @param schema Schema of the array; only read
 * @param array An export of this library; marked released after success
 * @param policy Whether to copy
 * @param owner Keeps `stream` and `mr` alive during the lifetime of a copy
 * @param stream Stream that copies are enqueued on and freed on
 * @param mr Resource for copies
 * @param order The order of a table's elements
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT shared_tensor
to_tensor(ArrowSchema const& schema,
          ArrowDeviceArray* array,
          copy_policy policy,
          std::shared_ptr<void const> owner,
          cuda::stream_ref stream,
          rmm::device_async_resource_ref mr,
          tensor_order order = tensor_order::column_major);

/**
 * @brief One buffer of an array as a tensor of one dimension, including null rows.
 *
 * Elements are the stored values: integers for offsets, timestamps, durations, decimals and
 * dictionary indices, and sizes of buffers; bytes for bitmaps, strings and binary data.
 *
 * @throws cudf::data_type_error if tensors have no such type, for example for string views; the
 *   caller then still owns `array`
 * @throws std::out_of_range if there is no such buffer; the caller then still owns `array`
 *
 * @param schema Schema of the array; only read
 * @param array An export of this library; marked released after success
 * @param index Index of the buffer
 * @param size Bytes of the buffer
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT shared_tensor buffer_tensor(ArrowSchema const& schema,
                                                                   ArrowDeviceArray* array,
                                                                   std::size_t index,
                                                                   std::int64_t size);

/// Columns that were imported from a tensor.
struct CUDF_ARROW_BRIDGE_EXPORT imported_tensor {
  imported_table table;  ///< one column unless it is a table
  bool is_table{false};  ///< whether the tensor had two dimensions and was imported as a table
};

/**
 * @brief Describes a DLPack tensor.
 *
 * @throws cudf::data_type_error for a type that columns lack
 * @throws std::invalid_argument for a tensor that contradicts the specification or itself
 *
 * @param tensor Tensor to describe; only read
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT tensor_view view_dlpack(DLManagedTensor const* tensor);

/// @copydoc view_dlpack(DLManagedTensor const*)
///
/// If the tensor's major version is unknown, nothing but the version is read.
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT tensor_view
view_dlpack(DLManagedTensorVersioned const* tensor);

/**
 * @brief Allocates an uninitialized row-major DLPack tensor of any type and number of dimensions.
 *
 * @throws std::invalid_argument for a shape of more bytes than 63 bits can count, or a device that
 *   this process cannot use
 * @throws rmm::bad_alloc if there is too little memory
 *
 * @param prototype Tensor with the type, shape and device; its memory and strides are not read
 * @param owner Keeps `stream` and `mr` alive during the lifetime of the tensor
 * @param stream Stream that device memory is allocated on and freed on
 * @param mr Resource of device memory; for another device than the current one, the current
 *   resource of that device is used
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT DLManagedTensorVersioned* allocate_dlpack(
  DLTensor const* prototype,
  std::shared_ptr<void const> owner,
  cuda::stream_ref stream,
  rmm::device_async_resource_ref mr);

/// Calls a DLPack tensor's deleter, if it has one.
CUDF_ARROW_BRIDGE_EXPORT void delete_dlpack(DLManagedTensor* tensor);

/// @copydoc delete_dlpack(DLManagedTensor*)
CUDF_ARROW_BRIDGE_EXPORT void delete_dlpack(DLManagedTensorVersioned* tensor);

/**
 * @brief Imports a tensor as columns over its memory, as `from_arrow_device_column` imports an
 *   array.
 *
 * Adopts the memory of contiguous columns: one dimension with stride 1, a table in Fortran order,
 * lists in C order, whose offsets are created. Others are gathered into new columns.
 *
 * @throws cudf::data_type_error for a type that columns lack
 * @throws std::invalid_argument for a shape that columns cannot have, for memory that this process
 *   cannot read, or if `policy` forbids a copy that is needed
 * @throws std::overflow_error for more rows than `cudf::size_type` holds, more than 1 048 575
 *   columns, or, for lists and where columns are gathered, more elements than `cudf::size_type`
 *   holds
 *
 * @param tensor Tensor to import
 * @param owner Keeps its memory alive; destroyed in stream order after the last column over it
 * @param producer Stream whose enqueued work the import waits for; none if there is nothing to wait
 *   for, or if `stream` already waits. `cudaStreamPerThread` means the per-thread default streams
 *   of all threads
 * @param policy Whether to copy
 * @param stream Stream that is made to wait for `producer`, and that copies run on; must outlive
 *   the columns
 * @param mr Resource for copies, and for adopted buffers that are resized later
 * @param kind Whether the result is a table or a column
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT imported_tensor
from_tensor(tensor_view const& tensor,
            std::shared_ptr<void const> owner,
            std::optional<cuda::stream_ref> producer,
            copy_policy policy,
            cuda::stream_ref stream,
            rmm::device_async_resource_ref mr,
            tensor_kind kind = tensor_kind::table);

/**
 * @brief Imports a DLPack tensor whose producer has made `stream` wait.
 *
 * Takes ownership of the tensor, even if this throws: its deleter is called once. Adopts and
 * gathers columns as `from_tensor` does.
 *
 * @throws std::exception the exceptions of `view_dlpack` and `from_tensor`
 *
 * @tparam Managed DLManagedTensor or DLManagedTensorVersioned
 * @param tensor Tensor to import
 * @param policy Whether to copy
 * @param stream Stream that waits for the producer and runs copies; must outlive the columns
 * @param mr Resource for copies, and for adopted buffers that are resized later
 * @param kind Whether the result is a table or a column
 */
template <typename Managed>
[[nodiscard]] imported_tensor from_dlpack(Managed* tensor,
                                          copy_policy policy,
                                          cuda::stream_ref stream,
                                          rmm::device_async_resource_ref mr,
                                          tensor_kind kind = tensor_kind::table)
{
  auto const owner =
    std::shared_ptr<Managed const>{tensor, [](Managed* owned) { delete_dlpack(owned); }};
  return from_tensor(view_dlpack(owner.get()), owner, std::nullopt, policy, stream, mr, kind);
}

/// @}

}  // namespace cudf_arrow_bridge
