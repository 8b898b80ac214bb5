// SPDX-License-Identifier: Apache-2.0
#include "cuda/transfer/pinned_chunks.hpp"

#include <rmm/aligned.hpp>
#include <rmm/detail/error.hpp>

#include <algorithm>
#include <utility>

namespace cudf_arrow_bridge::detail {

pinned_chunks::pinned_chunks(std::size_t total,
                             std::size_t chunk_size,
                             cuda::stream_ref stream,
                             std::shared_ptr<void const> owner)
  : stream_{stream},
    piece_size_{std::min({total, chunk_size, largest_chunk})},
    num_pieces_{total > piece_size_ ? 2U : 1U},
    step_{rmm::align_up(piece_size_, 64)},
    memory_{1, num_pieces_ * step_, transfer_kind::body, stream, std::move(owner)}
{
  if (memory_.bytes().size() < num_pieces_ * step_) {
    num_pieces_ = 2;
    step_       = memory_.bytes().size() / 2;
    piece_size_ = std::min(step_, piece_size_);
  }
  for (auto& done : done_) { done = pooled_event::acquire(); }
}

void pinned_chunks::end_piece(std::size_t number)
{
  RMM_CUDA_TRY(done_[number % 2].record(stream_));
  num_ended_ = number + 1;
}

void pinned_chunks::wait_for_piece(std::size_t number)
{
  RMM_CUDA_TRY(done_[number % 2].wait());
  // Copies that were not ended follow those of an earlier piece, so wait for that piece first.
  if (number + 1 == num_ended_) { memory_.note_wait(); }
}

}  // namespace cudf_arrow_bridge::detail
