// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/ordering/process.hpp"
#include "cuda/ordering/thread_stamp.hpp"
#include "cuda/release/deferred_release.hpp"

#include <cudf_arrow_bridge/owners.hpp>

#include <cuda/stream>

#include <atomic>
#include <cstdint>
#include <utility>

namespace cudf_arrow_bridge::detail {

/**
 * @brief A producer's struct, shared by the buffers that were adopted from it.
 *
 * Work queued on the stream that a buffer is freed on may still read it. So each share that goes
 * leaves an event behind on its stream, and the producer's `release` is called only after all of
 * these: at once if there are none (host memory), else by the release queue. A forked child leaves
 * its parent's device memory alone.
 */
class foreign_array : private deferred_release {
 public:
  /**
   * @brief Takes a struct over. One share is the caller's.
   *
   * @throws rmm::cuda_error, std::bad_alloc or std::system_error; the struct is then the caller's
   *
   * @param array Left released
   * @param host Whether it is pageable host memory, which no stream can be reading
   */
  foreign_array(ArrowDeviceArray* array, bool host);

  void add_share() noexcept { shares_.fetch_add(1, std::memory_order_relaxed); }

  /// Gives a share back for when the work enqueued on `stream` so far is done.
  void drop_share(cuda::stream_ref stream) noexcept;

 private:
  ~foreign_array() override = default;

  unique_device_array array_;
  bool host_;
  process_stamp made_in_;
  thread_stamp made_on_;
  std::atomic<std::int64_t> shares_{1};
};

/// One share of a foreign array, given back on a stream.
class foreign_share {
 public:
  /// Adopts a share that is the caller's already.
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

  /// Gives the share back on `stream`.
  void drop(cuda::stream_ref stream) noexcept
  {
    if (auto* array = std::exchange(array_, nullptr)) { array->drop_share(stream); }
  }

 private:
  foreign_array* array_;
  cuda::stream_ref stream_;
};

}  // namespace cudf_arrow_bridge::detail
