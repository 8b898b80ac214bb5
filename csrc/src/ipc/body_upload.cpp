// SPDX-License-Identifier: Apache-2.0
#include "base/nvtx.hpp"
#include "cuda/location/location.hpp"
#include "cuda/ordering/captures.hpp"
#include "cuda/transfer/pinned_chunks.hpp"

#include <cudf_arrow_bridge/ipc.hpp>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace cudf_arrow_bridge {
namespace {

memory_location current_device()
{ return {ARROW_DEVICE_CUDA, rmm::get_current_cuda_device().value()}; }

}  // namespace

struct body_upload::state {
  state(std::size_t total,
        std::size_t chunk_size,
        cuda::stream_ref stream,
        rmm::device_async_resource_ref mr)
    : size{total}, location{current_device()}, memory{total, stream, mr}
  {
    if (size > 0) {
      chunks = std::make_unique<detail::pinned_chunks>(size, chunk_size, stream, nullptr);
    }
  }

  std::span<std::byte> next()
  {
    if (num_copied == size) { return {}; }
    if (piece.empty()) {
      if (num_pieces >= chunks->num_pieces()) {
        chunks->wait_for_piece(num_pieces - chunks->num_pieces());
      }
      auto const whole = chunks->piece(num_pieces);
      piece            = whole.first(std::min(whole.size(), size - num_copied));
    }
    return piece;
  }

  void commit(std::size_t filled)
  {
    if (filled == 0) { return; }
    auto const guard = detail::guard_device(location);
    chunks->copy(static_cast<std::byte*>(memory.data()) + num_copied, piece.data(), filled);
    chunks->end_piece(num_pieces);
    piece = {};
    num_copied += filled;
    ++num_pieces;
  }

  std::size_t size;
  memory_location location;
  rmm::device_buffer memory;
  std::unique_ptr<detail::pinned_chunks> chunks{};
  std::span<std::byte> piece{};  ///< the piece that is being filled
  std::size_t num_pieces{0};     ///< committed pieces
  std::size_t num_copied{0};     ///< bytes
  bool has_failed{false};
  bool is_finished{false};
};

body_upload::body_upload(std::size_t size,
                         std::size_t chunk_size,
                         cuda::stream_ref stream,
                         rmm::device_async_resource_ref mr)
{
  detail::nvtx_range const range{__func__};
  if (!has_gpu()) { throw std::logic_error{"expected a GPU for an upload, got none"}; }
  if (chunk_size == 0) { throw std::invalid_argument{"chunk_size: expected at least 1, got 0"}; }
  detail::require_no_capture(stream);
  state_ = std::make_unique<state>(size, chunk_size, stream, mr);
}

body_upload::~body_upload() = default;

std::span<std::byte> body_upload::next()
{
  detail::nvtx_range const range{__func__};
  if (std::exchange(state_->has_failed, true)) {
    throw std::logic_error{"expected a running upload, got one that has failed"};
  }
  auto const piece   = state_->next();
  state_->has_failed = false;
  return piece;
}

void body_upload::commit(std::size_t filled)
{
  detail::nvtx_range const range{__func__};
  if (filled > state_->piece.size()) {
    throw std::invalid_argument{"expected a piece of at most " +
                                std::to_string(state_->piece.size()) + " bytes, got " +
                                std::to_string(filled)};
  }
  state_->has_failed = true;
  state_->commit(filled);
  state_->has_failed = false;
}

rmm::device_buffer body_upload::finish()
{
  detail::nvtx_range const range{__func__};
  if (state_->num_copied != state_->size) {
    throw std::logic_error{"expected a body of " + std::to_string(state_->size) + " bytes, got " +
                           std::to_string(state_->num_copied)};
  }
  if (std::exchange(state_->is_finished, true)) {
    throw std::logic_error{"expected a running upload, got one that is finished"};
  }
  return std::move(state_->memory);
}

}  // namespace cudf_arrow_bridge
