// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda/stream>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cudf_arrow_bridge::detail {

class transfer_block;

/// What is copied. Selects the pool of pinned memory.
enum class transfer_kind : std::uint8_t {
  body,      ///< buffers to the device, and message bodies in both directions: the pool of 64 MiB
  read_back  ///< integers from the device: the pool of 1 MiB
};

/// Pinned host memory, borrowed from a pool.
class pinned_memory {
 public:
  /// Borrows memory for an upload.
  explicit pinned_memory(std::size_t size) : pinned_memory{size, size, transfer_kind::body} {}

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
  /// pageable. `owner` keeps the source of the copies alive.
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
 * @brief Copies pageable host memory to a GPU, without synchronizing if it has at most 64 MiB.
 *
 * The bytes are staged, in pinned memory if the pool has enough, so that the source may be freed
 * after each call. The staging memory is kept until the copies from it are done. The first upload
 * of a process pins the large pool, which may synchronize with the device.
 */
class host_upload {
 public:
  /**
   * @param size Bytes of all copies. If they are more than 64 MiB, the host waits for the stream
   *   after each 64 MiB.
   * @param stream Stream that the copies are enqueued on
   */
  host_upload(std::size_t size, cuda::stream_ref stream);

  /// Copies `count` bytes of the source, and zeros up to `size` bytes. Copies to adjacent memory
  /// are enqueued as one, so the last one is enqueued by `finish`.
  void copy(void* target, void const* source, std::size_t count, std::size_t size);

  /// Enqueues the copies that are staged.
  void finish();

 private:
  cuda::stream_ref stream_;
  std::size_t capacity_;
  transfer_memory staged_;
  std::size_t begin_{0};        ///< first staged byte that is not enqueued
  std::size_t used_{0};         ///< staged bytes
  std::byte* target_{nullptr};  ///< of the byte at `begin_`
};

}  // namespace cudf_arrow_bridge::detail
