// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda/stream>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace cudf_arrow_bridge::detail {

class transfer_block;

/// What is copied. Selects the pool of pinned memory, and what is used if the pool has too little.
enum class transfer_kind : std::uint8_t {
  upload,    ///< buffers to the device: the pool of 64 MiB; otherwise no memory
  body,      ///< message bodies in both directions: the pool of 64 MiB; otherwise pageable memory
  read_back  ///< integers from the device: the pool of 1 MiB; otherwise pageable memory
};

/// Pinned host memory, borrowed from a pool.
class pinned_memory {
 public:
  /// Borrows memory for an upload.
  explicit pinned_memory(std::size_t size) : pinned_memory{size, size, transfer_kind::upload} {}

  /// Borrows `most` bytes, or the largest piece available, but at least `least` bytes.
  pinned_memory(std::size_t least, std::size_t most, transfer_kind kind);

  pinned_memory(pinned_memory const&)            = delete;
  pinned_memory& operator=(pinned_memory const&) = delete;
  ~pinned_memory();

  /// @return The memory; null if none was available
  [[nodiscard]] std::byte* data() const noexcept { return memory_.data(); }

  /// @return Its size in bytes, in whole blocks of the pool
  [[nodiscard]] std::size_t size() const noexcept { return memory_.size(); }

 private:
  transfer_kind kind_;
  std::span<std::byte> memory_;
};

/**
 * @brief Host memory for copies on one stream, pinned if the pool has enough.
 *
 * The memory is kept until the copies are done, also if this object is destroyed before. It belongs
 * to the device that is current at construction, as does the stream.
 */
class transfer_memory {
 public:
  /// Takes `most` bytes of pinned memory, or fewer, but at least `least`. Otherwise the memory is
  /// pageable, or empty for an upload. `owner` keeps the source of the copies alive.
  transfer_memory(std::size_t least,
                  std::size_t most,
                  transfer_kind kind,
                  cuda::stream_ref stream,
                  std::shared_ptr<void const> owner = nullptr);

  transfer_memory(transfer_memory const&)            = delete;
  transfer_memory& operator=(transfer_memory const&) = delete;
  ~transfer_memory();

  [[nodiscard]] std::span<std::byte> bytes() const noexcept;

  /// Enqueues a copy from or to this memory.
  void copy(void* target, void const* source, std::size_t size);

  /// Call this when the host has waited for all copies: the memory is then freed immediately.
  void note_wait() noexcept { is_copying_ = false; }

 private:
  cuda::stream_ref stream_;
  transfer_block* block_;
  bool is_copying_{false};  ///< whether copies may be in flight
};

/**
 * @brief Copies pageable host memory to a GPU, without synchronizing if possible.
 *
 * The bytes are staged in pinned memory, so that the source may be freed once the upload is
 * destroyed. The pinned memory returns to its pool when the copies from it are done. The first
 * upload of a process pins the large pool, which may synchronize with the device.
 */
class host_upload {
 public:
  /**
   * @param capacity Sum of the `staged_size` of all copies. If that much pinned memory is not
   *   available, CUDA stages the copies and the destructor waits for them.
   * @param stream Stream that the copies are enqueued on
   */
  host_upload(std::size_t capacity, cuda::stream_ref stream);

  host_upload(host_upload const&)            = delete;
  host_upload& operator=(host_upload const&) = delete;
  ~host_upload();

  /// Enqueues one copy.
  void copy(void* target, void const* source, std::size_t size);

  /// @return The number of bytes of pinned memory that one copy needs
  [[nodiscard]] static constexpr std::size_t staged_size(std::size_t size)
  {
    constexpr auto alignment = std::size_t{64};
    return (size + alignment - 1) / alignment * alignment;
  }

 private:
  cuda::stream_ref stream_;
  std::optional<transfer_memory> staged_;  ///< without bytes, CUDA stages the copies
  std::size_t used_{0};
  bool reads_source_{false};  ///< whether a copy in flight may read its source
};

}  // namespace cudf_arrow_bridge::detail
