// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arrays/array_tree.hpp"
#include "cuda/ordering/process.hpp"
#include "cuda/release/deferred_release.hpp"

#include <cudf_arrow_bridge/owners.hpp>

#include <rmm/device_buffer.hpp>
#include <rmm/resource_ref.hpp>

#include <cuda/stream>

#include <cstdint>
#include <memory>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Owner of a producer's struct, shared by the buffers adopted from it.
 *
 * Kernels queued on the stream on which a buffer is freed may still read it. So each share that is
 * dropped on another stream than that of the import, and the last share on the latter, records an
 * event, and the producer's `release` is called when all events have completed. If this library
 * exported the array and frees its memory in the order of one stream, that stream is made to wait
 * for the events, and the array is released immediately. Host memory has no events and is released
 * immediately. A forked child process never releases its parent's device memory.
 */
class foreign_array : private deferred_release {
 public:
  /**
   * @brief Takes ownership of a struct, unless this throws.
   *
   * @param host Whether its buffers are pageable host memory, which no stream reads
   * @param stream Stream of the import, which exists until the last share is dropped
   */
  static std::shared_ptr<foreign_array> own(ArrowDeviceArray* array,
                                            bool host,
                                            cuda::stream_ref stream);

  /// Keeps the struct until the work that is enqueued on `stream` is done. Call this before a share
  /// is dropped, unless the work is on the stream of the import.
  void keep_for(cuda::stream_ref stream) noexcept;

 private:
  foreign_array(bool host, cuda::stream_ref stream);

  /// Releases the struct with the device of its memory current.
  ~foreign_array() override;

  /// Called when the last share is dropped.
  void release() noexcept;

  unique_device_array array_;
  bool host_;
  cuda::stream_ref stream_;
  array_tree const* tree_{nullptr};  ///< of an array whose memory is freed in stream order
  process_id creator_process_;
  thread_id creator_thread_;
};

/**
 * @brief Wraps a producer's memory in a `device_buffer` without a copy.
 *
 * The buffer holds a share of the producer's struct and drops it when it is deallocated, on the
 * stream of the deallocation. An empty buffer holds no share.
 *
 * @param mr Resource for reallocations, should the buffer grow
 */
rmm::device_buffer adopt(std::shared_ptr<foreign_array> share,
                         void const* memory,
                         std::int64_t size,
                         cuda::stream_ref stream,
                         rmm::device_async_resource_ref mr);

}  // namespace cudf_arrow_bridge::detail
