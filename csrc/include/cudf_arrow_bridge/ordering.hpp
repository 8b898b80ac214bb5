// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/visibility.hpp>

#include <cuda/stream>

#include <memory>

namespace cudf_arrow_bridge {

/**
 * @brief Makes what is enqueued on a stream from now on wait for the work another one has so far.
 *
 * For data that is made or imported on one stream and used on another, such as cuDF's default one.
 * The host doesn't wait. Without a GPU there is nothing to order.
 *
 * @throws rmm::cuda_error if CUDA has no event or rejects a stream
 *
 * @param later Stream that is made to wait
 * @param earlier Stream of the current device that it waits for
 */
CUDF_ARROW_BRIDGE_EXPORT void order_after(cuda::stream_ref later, cuda::stream_ref earlier);

/**
 * @brief Ties memory that is freed on one stream to another stream that reads it, too.
 *
 * Where both are the per-thread default stream, they are two as soon as another thread lets go.
 * When the last copy of the result goes, on any thread and whatever device is current there,
 * `freed` is made to wait for the work that `reader` has by then, and only then is the owner let
 * go: what that frees or releases in the order of `freed` comes after both streams' work. The event
 * is acquired here, so that letting go needs no memory.
 *
 * @throws rmm::cuda_error if CUDA has no event
 *
 * @param owner Owner to let go of
 * @param freed Stream that it frees on; lives until then
 * @param reader Stream of the current device; lives until then
 * @return `owner` itself without a GPU, and where no other stream than `freed` can be meant
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT std::shared_ptr<void const> release_after(
  std::shared_ptr<void const> owner, cuda::stream_ref freed, cuda::stream_ref reader);

}  // namespace cudf_arrow_bridge
