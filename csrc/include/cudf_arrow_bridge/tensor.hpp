// SPDX-License-Identifier: Apache-2.0
/// @file
/// Columns as tensors and back, for libraries that speak DLPack or the CUDA array interface.
#pragma once

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/import.hpp>
#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/owners.hpp>
#include <cudf_arrow_bridge/visibility.hpp>

#include <rmm/resource_ref.hpp>

#include <cuda/stream>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace cudf_arrow_bridge {

/// What the elements of a tensor are; the values are DLPack's type codes.
enum class element_kind : std::uint8_t {
  integer          = 0,
  unsigned_integer = 1,
  floating         = 2,
  boolean          = 6  ///< a byte each, 0 or 1
};

/// Dense memory with a shape. Owns nothing.
struct tensor_view {
  void const* data{nullptr};            ///< the first element; null if there is none
  memory_location location{};           ///< where it is
  element_kind kind{};                  ///< of the elements
  std::int64_t bits{0};                 ///< of one element
  std::vector<std::int64_t> shape{};    ///< elements along each dimension
  std::vector<std::int64_t> strides{};  ///< from one to the next of each dimension, in elements
};

/// Whether memory may be, or has to be, copied on the way.
enum class copy_policy : std::int8_t { if_needed, never, always };

/**
 * @brief A tensor over the memory of an exported array, which it keeps alive.
 *
 * Cheap to copy: copies share the memory.
 */
class CUDF_ARROW_BRIDGE_EXPORT shared_tensor {
 public:
  /// Nothing.
  shared_tensor() = default;

  /**
   * @brief Takes an array over.
   *
   * @param view Points into the array
   * @param memory Keeps what `view` points at alive; its event says when the data is there
   * @param is_copy Whether nobody else has this memory
   */
  shared_tensor(tensor_view view, unique_device_array&& memory, bool is_copy);

  [[nodiscard]] tensor_view const& view() const noexcept { return view_; }

  /// @return Whether the memory was copied for this tensor, so that nobody minds who writes to it
  [[nodiscard]] bool is_copy() const noexcept { return is_copy_; }

  /**
   * @brief Makes a stream of the memory's device wait for the data.
   *
   * @throws rmm::cuda_error if CUDA rejects the stream
   */
  void make_wait(cuda::stream_ref stream) const;

  /**
   * @brief Blocks until the data is there.
   *
   * @throws rmm::cuda_error if the work that makes it has failed
   */
  void wait() const;

  /**
   * @brief Makes a DLPack tensor, to be deleted once by its own deleter, from any thread.
   *
   * It shares the memory. It is marked read-only, as Arrow's arrays are, unless it is a copy.
   *
   * @param device_type What to label the memory as: what it is, or a name for it that holds, too
   */
  [[nodiscard]] DLManagedTensorVersioned* to_dlpack_versioned(ArrowDeviceType device_type) const;

  /// The same as the tensor of DLPack before 1.0, which cannot say that it is read-only.
  [[nodiscard]] DLManagedTensor* to_dlpack(ArrowDeviceType device_type) const;

 private:
  tensor_view view_;
  std::shared_ptr<unique_device_array const> memory_;
  bool is_copy_{false};
};

/**
 * @brief An array as a tensor: a column of numbers has one dimension, a struct or table of them
 * two.
 *
 * Zero-copy for a column, and for a table whose columns stand right behind one another in memory.
 * Other tables are copied, columns one after another, on `stream`.
 *
 * Waits where nobody has counted the nulls of a column that has a mask.
 *
 * @throws cudf::data_type_error if it is no tensor: a type that tensors lack, columns of several
 *   types, nulls, or a copy that is needed and not allowed. `array` is then still the caller's.
 *
 * @param schema Schema of the array; only read
 * @param array An export of this library; left released
 * @param policy Whether to copy
 * @param owner Kept alive as long as a copy is: of `stream` and `mr`
 * @param stream Stream that copies are enqueued on and freed on
 * @param mr Resource for copies
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT shared_tensor to_tensor(ArrowSchema const& schema,
                                                               ArrowDeviceArray* array,
                                                               copy_policy policy,
                                                               std::shared_ptr<void const> owner,
                                                               cuda::stream_ref stream,
                                                               rmm::device_async_resource_ref mr);

/**
 * @brief One buffer of an array as a tensor of one dimension, null rows and all.
 *
 * Elements are what is stored: integers for offsets, timestamps, durations, decimals and the
 * indices of dictionaries, bytes for bits and the data of strings.
 *
 * @throws cudf::data_type_error if tensors have no such type; `array` is then still the caller's
 *
 * @param schema Schema of the array; only read
 * @param array An export of this library; left released
 * @param index Which of the buffers
 * @param size Bytes of the buffer
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT shared_tensor buffer_tensor(ArrowSchema const& schema,
                                                                   ArrowDeviceArray* array,
                                                                   std::size_t index,
                                                                   std::int64_t size);

/// Columns made of a tensor.
struct CUDF_ARROW_BRIDGE_EXPORT imported_tensor {
  imported_table table;  ///< one column if the tensor had one dimension
  bool is_table{false};  ///< whether it had two
};

/**
 * @brief Describes a DLPack tensor.
 *
 * @throws cudf::data_type_error for a type that columns lack
 * @throws std::invalid_argument for a tensor that contradicts the specification or itself, or has
 *   another number of dimensions than one or two
 *
 * @param tensor Only read, and no more than its version if that is one that we don't know
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT tensor_view view_dlpack(DLManagedTensor const* tensor);

/// @copydoc view_dlpack(DLManagedTensor const*)
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT tensor_view
view_dlpack(DLManagedTensorVersioned const* tensor);

/// Calls a DLPack tensor's deleter, if it has one.
CUDF_ARROW_BRIDGE_EXPORT void delete_dlpack(DLManagedTensor* tensor);

/// @copydoc delete_dlpack(DLManagedTensor*)
CUDF_ARROW_BRIDGE_EXPORT void delete_dlpack(DLManagedTensorVersioned* tensor);

/**
 * @brief Imports a tensor as columns over its memory, as `from_arrow_device_column` does an array.
 *
 * Adopts the memory of contiguous columns: of one dimension with a stride of 1, of two in Fortran
 * order. Others are gathered into columns of their own.
 *
 * @throws cudf::data_type_error for a type that columns lack
 * @throws std::invalid_argument for a shape that columns cannot have, for memory that is elsewhere,
 *   or if the policy forbids the copy that it takes
 * @throws std::overflow_error for more rows than `cudf::size_type` holds, more than 1 048 575
 *   columns, or more elements to gather from than there may be rows
 *
 * @param tensor Tensor to import
 * @param owner Keeps its memory alive; dropped when the last column over it is, in stream order
 * @param producer Stream whose work so far the import waits for; none if there is nothing to wait
 *   for, or if `stream` waits already. The per-thread default stream stands for those of all
 *   threads
 * @param policy Whether to copy
 * @param stream As in `from_arrow_device_column`
 * @param mr Likewise
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT imported_tensor
from_tensor(tensor_view const& tensor,
            std::shared_ptr<void const> owner,
            std::optional<cuda::stream_ref> producer,
            copy_policy policy,
            cuda::stream_ref stream,
            rmm::device_async_resource_ref mr);

/**
 * @brief Imports a DLPack tensor whose producer has made `stream` wait.
 *
 * The tensor is taken over, whatever happens: its deleter is called once.
 *
 * @copydetails from_tensor
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT imported_tensor
from_dlpack(DLManagedTensorVersioned* tensor,
            copy_policy policy,
            cuda::stream_ref stream,
            rmm::device_async_resource_ref mr);

/// @copydoc
/// from_dlpack(DLManagedTensorVersioned*,copy_policy,cuda::stream_ref,rmm::device_async_resource_ref)
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT imported_tensor
from_dlpack(DLManagedTensor* tensor,
            copy_policy policy,
            cuda::stream_ref stream,
            rmm::device_async_resource_ref mr);

}  // namespace cudf_arrow_bridge
