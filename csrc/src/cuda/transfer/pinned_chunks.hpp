// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/ordering/events.hpp"
#include "cuda/transfer/staging.hpp"

#include <cuda/stream>

#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace cudf_arrow_bridge::detail {

/// The maximum size of a chunk in bytes, so that the pool can serve several transfers at once.
inline constexpr std::size_t largest_chunk = std::size_t{1} << 24;

/**
 * @brief Two alternating pieces of pinned memory for a long transfer; one piece for a short
 * transfer.
 *
 * Pieces are numbered from 0 and reuse the memory of earlier pieces. The memory is kept until its
 * copies are done, also if this object is destroyed before. It belongs to the device that is
 * current at construction, as does the stream.
 *
 * If the pool has less memory, the pieces are smaller; if it has none, they are pageable.
 */
class pinned_chunks {
 public:
  /// @param total Size of the transfer in bytes; there is one piece if it is large enough
  /// @param chunk_size Maximum size of a piece in bytes, limited to `largest_chunk`
  /// @param stream Stream that copies are enqueued on; must outlive this
  /// @param owner Keeps the source of the copies alive until they are done
  pinned_chunks(std::size_t total,
                std::size_t chunk_size,
                cuda::stream_ref stream,
                std::shared_ptr<void const> owner);

  /// @return The number of pieces after which memory is reused: 1 or 2
  [[nodiscard]] std::size_t num_pieces() const noexcept { return num_pieces_; }

  /// @return The memory of a piece
  [[nodiscard]] std::span<std::byte> piece(std::size_t number) const noexcept
  { return memory_.bytes().subspan(number % num_pieces_ * step_, piece_size_); }

  /// Enqueues a copy from or to the newest piece; see `transfer_memory::copy`.
  void copy(void* target, void const* source, std::size_t size)
  { memory_.copy(target, source, size); }

  /// Ends the copies of the newest piece.
  void end_piece(std::size_t number);

  /// Waits for the copies of an ended piece, one of the newest two.
  void wait_for_piece(std::size_t number);

 private:
  cuda::stream_ref stream_;
  std::size_t piece_size_;
  std::size_t num_pieces_;
  std::size_t step_;  ///< from one piece to the next
  transfer_memory memory_;
  std::array<pooled_event, 2> done_;
  std::size_t num_ended_{0};
};

}  // namespace cudf_arrow_bridge::detail
