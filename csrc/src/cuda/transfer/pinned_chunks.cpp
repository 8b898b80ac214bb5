// SPDX-License-Identifier: Apache-2.0
#include "cuda/transfer/pinned_chunks.hpp"

#include "cuda/ordering/events.hpp"
#include "cuda/release/deferred_release.hpp"
#include "cuda/transfer/staging.hpp"

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <utility>

namespace cudf_arrow_bridge::detail {

/// The memory of the pieces, which destroys itself when the copies are done.
class chunk_block : private deferred_release {
 public:
  chunk_block(std::size_t total, std::size_t size, std::shared_ptr<void const> owner)
    : deferred_release{true},
      owner_{std::move(owner)},
      num_pieces_{total > size ? 2U : 1U},
      pinned_{1, num_pieces_ * host_upload::staged_size(size)}
  {
    auto* memory = pinned_.data();
    auto step    = host_upload::staged_size(size);
    if (memory == nullptr) {
      pageable_ = std::make_unique_for_overwrite<std::byte[]>(num_pieces_ * step);
      memory    = pageable_.get();
    } else if (pinned_.size() < num_pieces_ * step) {
      num_pieces_ = 2;
      step        = pinned_.size() / 2;
    }
    for (std::size_t i = 0; i < num_pieces_; ++i) {
      pieces_[i] = {memory + i * step, std::min(step, size)};
    }
    for (auto& done : done_) { done = pooled_event::acquire(); }
  }

  [[nodiscard]] std::size_t num_pieces() const noexcept { return num_pieces_; }

  [[nodiscard]] std::span<std::byte> piece(std::size_t number) const noexcept
  { return pieces_[number % num_pieces_]; }

  [[nodiscard]] pooled_event const& done(std::size_t number) const noexcept
  { return done_[number % 2]; }

  void finish_after(cuda::stream_ref stream) noexcept
  {
    release_after(stream);
    release_when_ready();
  }

  void finish_now() noexcept { release_when_ready(); }

 private:
  ~chunk_block() override = default;

  std::shared_ptr<void const> owner_;
  std::size_t num_pieces_;
  pinned_memory pinned_;
  std::unique_ptr<std::byte[]> pageable_;  ///< if there is no pinned memory
  std::array<std::span<std::byte>, 2> pieces_;
  std::array<pooled_event, 2> done_;
};

pinned_chunks::pinned_chunks(std::size_t total,
                             std::size_t chunk_size,
                             cuda::stream_ref stream,
                             std::shared_ptr<void const> owner)
  : stream_{stream}
{
  auto const size = std::min({total, chunk_size, largest_chunk});
  block_          = new chunk_block{total, size, std::move(owner)};
}

pinned_chunks::~pinned_chunks()
{
  if (is_copying_) {
    block_->finish_after(stream_);
  } else {
    block_->finish_now();
  }
}

std::size_t pinned_chunks::num_pieces() const noexcept { return block_->num_pieces(); }

std::span<std::byte> pinned_chunks::piece(std::size_t number) const noexcept
{ return block_->piece(number); }

void pinned_chunks::copy(void* target, void const* source, std::size_t size)
{
  is_copying_ = true;
  RMM_CUDA_TRY(cudaMemcpyAsync(target, source, size, cudaMemcpyDefault, stream_.get()));
}

void pinned_chunks::end_piece(std::size_t number)
{
  RMM_CUDA_TRY(block_->done(number).record(stream_));
  num_ended_ = number + 1;
}

void pinned_chunks::wait_for_piece(std::size_t number)
{
  RMM_CUDA_TRY(block_->done(number).wait());
  // Copies that were not ended follow those of an earlier piece, so wait for that piece first.
  if (number + 1 == num_ended_) { is_copying_ = false; }
}

}  // namespace cudf_arrow_bridge::detail
