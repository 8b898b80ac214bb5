// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda/stream>

#include <cstddef>

namespace cudf_arrow_bridge::detail {

class staging_block;

/// Pinned memory of the host, out of a pool that keeps it for the next user.
class pinned_memory {
 public:
  explicit pinned_memory(std::size_t size);
  pinned_memory(pinned_memory const&)            = delete;
  pinned_memory& operator=(pinned_memory const&) = delete;
  ~pinned_memory();

  /// @return Null if there was none to be had
  [[nodiscard]] std::byte* data() const noexcept { return memory_; }

 private:
  std::size_t size_;
  std::byte* memory_;
};

/**
 * @brief Copies pageable host memory to a GPU, without waiting for the GPU where that can be had.
 *
 * The bytes go through pinned memory, so that the source may be freed as soon as the upload is
 * destroyed. The pinned memory is kept for as long as the copies out of it run, and then for the
 * next upload. The first upload of a process has CUDA pin it all, which may wait for the device.
 */
class host_upload {
 public:
  /**
   * @param capacity `staged_size` of all that will be copied. Uploads for which there is no pinned
   *   memory left leave the staging to CUDA and wait.
   * @param stream Stream that the copies are enqueued on
   */
  host_upload(std::size_t capacity, cuda::stream_ref stream);

  host_upload(host_upload const&)            = delete;
  host_upload& operator=(host_upload const&) = delete;
  ~host_upload();

  /**
   * @brief Enqueues one copy.
   *
   * @throws rmm::cuda_error if CUDA refuses it
   */
  void copy(void* target, void const* source, std::size_t size);

  /// @return Bytes of pinned memory that one copy takes
  [[nodiscard]] static constexpr std::size_t staged_size(std::size_t size)
  {
    constexpr auto alignment = std::size_t{64};
    return (size + alignment - 1) / alignment * alignment;
  }

 private:
  cuda::stream_ref stream_;
  staging_block* block_{nullptr};  ///< null: CUDA stages
  std::size_t used_{0};
  bool reads_source_{false};  ///< whether a copy in flight may still read what it copies
};

}  // namespace cudf_arrow_bridge::detail
