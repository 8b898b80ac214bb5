// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda/stream>

#include <cstddef>
#include <memory>
#include <span>

namespace cudf_arrow_bridge::detail {

class chunk_block;

/// Bytes of a chunk at most, so that the pool serves several transfers at a time.
inline constexpr std::size_t largest_chunk = std::size_t{1} << 24;

/**
 * @brief Two pieces of pinned memory that a long transfer goes through in turns; one for a short
 * transfer.
 *
 * Pieces are numbered from 0 on, and use the memory of those before again. It is kept until the
 * copies from and to it are done, also if this goes before. It belongs to the device that is
 * current on construction, and so does the stream.
 *
 * If the pool has less than is asked for, the pieces are smaller; if it has none, they are
 * pageable.
 */
class pinned_chunks {
 public:
  /**
   * @param total Bytes of the transfer; one piece is enough if it holds them all
   * @param chunk_size Bytes of a piece at most; no more than `largest_chunk` are taken
   * @param stream Stream that copies are enqueued on; must outlive this
   * @param owner Keeps alive what the copies read, until they are done
   *
   * @throws rmm::cuda_error, std::bad_alloc
   */
  pinned_chunks(std::size_t total,
                std::size_t chunk_size,
                cuda::stream_ref stream,
                std::shared_ptr<void const> owner);

  pinned_chunks(pinned_chunks const&)            = delete;
  pinned_chunks& operator=(pinned_chunks const&) = delete;
  ~pinned_chunks();

  /// @return After how many pieces memory is used again: 1 or 2
  [[nodiscard]] std::size_t num_pieces() const noexcept;

  /// @return The memory of a piece
  [[nodiscard]] std::span<std::byte> piece(std::size_t number) const noexcept;

  /**
   * @brief Enqueues a copy from or to the newest piece.
   *
   * @throws rmm::cuda_error if CUDA refuses it
   */
  void copy(void* target, void const* source, std::size_t size);

  /**
   * @brief Ends the copies of a piece, the newest one.
   *
   * @throws rmm::cuda_error if CUDA cannot record that
   */
  void end_piece(std::size_t number);

  /**
   * @brief Waits for the copies of a piece that was ended, one of the newest two.
   *
   * @throws rmm::cuda_error if they, or work before them, have failed
   */
  void wait_for_piece(std::size_t number);

 private:
  cuda::stream_ref stream_;
  chunk_block* block_;
  std::size_t num_ended_{0};
  bool is_copying_{false};  ///< whether copies may be in flight
};

}  // namespace cudf_arrow_bridge::detail
