// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/visibility.hpp>

#include <rmm/cuda_device.hpp>

#include <cuda/stream>

#include <memory>

namespace cudf_arrow_bridge {

/// @addtogroup ordering Stream ordering
///
/// A function that would enqueue work on a stream throws std::invalid_argument if the stream is
/// capturing a CUDA graph, or if it is the legacy default stream while a blocking stream of its
/// device is capturing.
///
/// @{

/**
 * @brief Makes later work on `later` wait for the work that is enqueued on `earlier`.
 *
 * Use it for data that is produced or imported on one stream and used on another, such as cuDF's
 * default stream. The host does not wait. It does nothing without a GPU.
 *
 * A borrow of an array is two such orders: `device_array::make_wait` makes the stream of the
 * borrower wait for the data, and at the end this function makes the stream that the array was
 * exported on wait for the stream of the borrower.
 *
 * @throws rmm::cuda_error if CUDA cannot create an event or rejects a stream
 *
 * @param later Stream that is made to wait
 * @param earlier Stream that `later` waits for
 * @param device Device of both streams; a negative number is the current device
 */
CUDF_ARROW_BRIDGE_EXPORT void order_after(cuda::stream_ref later,
                                          cuda::stream_ref earlier,
                                          rmm::cuda_device_id device = rmm::cuda_device_id{-1});

/**
 * @brief Wraps an owner whose memory is freed on one stream and also read on another.
 *
 * When the last copy of the result is destroyed, on any thread and with any device current, `freed`
 * is made to wait for the work that is enqueued on `reader`, and then `owner` is destroyed. So
 * memory that `owner` frees in the order of `freed` is freed after the work of both streams. The
 * event is acquired here, so that the destruction does not allocate.
 *
 * If both streams are `cudaStreamPerThread`, they are two streams once another thread destroys the
 * result.
 *
 * @throws rmm::cuda_error if CUDA cannot create an event
 *
 * @param owner Owner to destroy
 * @param freed Stream that `owner` frees on; must outlive the result
 * @param reader Stream of the current device that reads the memory; must outlive the result
 * @return The wrapper; `owner` itself without a GPU, or if `reader` is `freed` on every thread
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT std::shared_ptr<void const> release_after(
  std::shared_ptr<void const> owner, cuda::stream_ref freed, cuda::stream_ref reader);

/**
 * @brief Prepares a new thread for work on a device, until the thread ends.
 *
 * The device is made current. The calls of the thread that wait or allocate do not invalidate
 * captures of CUDA graphs on other threads. A negative number changes nothing.
 */
CUDF_ARROW_BRIDGE_EXPORT void enter_thread(rmm::cuda_device_id device) noexcept;

/// @}

}  // namespace cudf_arrow_bridge
