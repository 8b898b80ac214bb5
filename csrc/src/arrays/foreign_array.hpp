// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arrays/array_tree.hpp"
#include "cuda/ordering/process.hpp"
#include "cuda/release/deferred_release.hpp"

#include <cudf_arrow_bridge/owners.hpp>

#include <rmm/device_buffer.hpp>
#include <rmm/resource_ref.hpp>

#include <cuda/stream>

#include <atomic>
#include <cstdint>
#include <utility>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Reference-counted owner of a producer's struct, shared by the buffers adopted from it.
 *
 * Kernels queued on the stream on which a buffer is freed may still read it. So the last share that
 * is dropped on the stream of the import, and each share that is dropped on another stream, records
 * an event there, and the producer's `release` is called when all events have completed. If this
 * library exported the array and frees its memory in the order of one stream, that stream is made
 * to wait for the events, and the array is released immediately. Host memory has no events and is
 * released immediately. A forked child process never releases its parent's device memory.
 */
class foreign_array : private deferred_release {
 public:
  /**
   * @brief Takes ownership of a struct, unless this throws. The caller holds the first share.
   *
   * @param host Whether its buffers are pageable host memory, which no stream reads
   * @param stream Stream of the import, which exists until the last share is dropped
   */
  foreign_array(ArrowDeviceArray* array, bool host, cuda::stream_ref stream);

  void add_share() noexcept { shares_.fetch_add(1, std::memory_order_relaxed); }

  /// Drops a share, effective when the work that is enqueued on `stream` is done.
  void drop_share(cuda::stream_ref stream) noexcept;

 private:
  /// Releases the struct with the device of its memory current.
  ~foreign_array() override;

  unique_device_array array_;
  bool host_;
  cuda::stream_ref stream_;
  std::atomic<bool> is_freed_on_stream_{false};  ///< whether a share was dropped on `stream_`
  array_tree const* tree_{nullptr};  ///< of an array whose memory is freed in stream order
  process_id creator_process_;
  thread_id creator_thread_;
  std::atomic<std::int64_t> shares_{1};
};

/// RAII owner of one share of a `foreign_array`.
class foreign_share {
 public:
  /// Takes ownership of a struct, unless this throws; see `foreign_array`. `stream` is the one that
  /// the destructor drops this share on.
  foreign_share(ArrowDeviceArray* array, bool host, cuda::stream_ref stream)
    : foreign_share{new foreign_array{array, host, stream}, stream}
  {
  }
  /// Takes over a share that the caller holds.
  foreign_share(foreign_array* array, cuda::stream_ref stream) noexcept
    : array_{array}, stream_{stream}
  {
  }
  foreign_share(foreign_share&& other) noexcept
    : array_{std::exchange(other.array_, nullptr)}, stream_{other.stream_}
  {
  }
  foreign_share(foreign_share const&)            = delete;
  foreign_share& operator=(foreign_share const&) = delete;
  foreign_share& operator=(foreign_share&&)      = delete;
  ~foreign_share() { drop(stream_); }

  /// @return One more share
  [[nodiscard]] foreign_share copy() const noexcept
  {
    array_->add_share();
    return {array_, stream_};
  }

  /// Drops the share on `stream`; see `foreign_array::drop_share`.
  void drop(cuda::stream_ref stream) noexcept
  {
    if (auto* array = std::exchange(array_, nullptr)) { array->drop_share(stream); }
  }

 private:
  foreign_array* array_;
  cuda::stream_ref stream_;
};

/**
 * @brief Wraps a producer's memory in a `device_buffer` without a copy.
 *
 * The buffer holds a share of the producer's struct and drops it when it is deallocated, on the
 * stream of the deallocation. An empty buffer holds no share.
 *
 * @param mr Resource for reallocations, should the buffer grow
 */
rmm::device_buffer adopt(foreign_share&& share,
                         void const* memory,
                         std::int64_t size,
                         cuda::stream_ref stream,
                         rmm::device_async_resource_ref mr);

}  // namespace cudf_arrow_bridge::detail
