// SPDX-License-Identifier: Apache-2.0
#include "base/nvtx.hpp"
#include "cuda/location/location.hpp"
#include "cuda/ordering/captures.hpp"
#include "cuda/ordering/events.hpp"
#include "cuda/transfer/pinned_chunks.hpp"

#include <cudf_arrow_bridge/ipc.hpp>

#include <rmm/detail/error.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>

namespace cudf_arrow_bridge {
namespace {

constexpr std::array<std::byte, ipc_alignment> padding{};

/// Consecutive bytes of a packed body.
struct packed_run {
  void const* address;  ///< null: zeros, no more than `ipc_alignment`
  std::size_t size;     ///< 0 at the end of the body
};

}  // namespace

struct body_download::state {
  state(ipc_body&& all, std::size_t chunk_size, cuda::stream_ref copied_on)
    : body{std::move(all)}, stream{copied_on}
  {
    auto const total = static_cast<std::size_t>(body.packed_size());
    auto const type  = body.location.device_type;
    // The pieces of a body that the host can read are its buffers.
    if (total == 0 || type == ARROW_DEVICE_CPU || type == ARROW_DEVICE_CUDA_HOST) { return; }
    auto const guard = detail::guard_device(body.location);
    chunks = std::make_unique<detail::pinned_chunks>(total, chunk_size, stream, body.owner);
    enqueue_piece();
  }

  std::span<std::byte const> next()
  {
    if (!chunks) { return next_buffer(); }
    if (num_given == num_enqueued) { return {}; }
    auto const guard = detail::guard_device(body.location);
    enqueue_piece();
    chunks->wait_for_piece(num_given);
    auto const number = num_given++;
    return chunks->piece(number).first(sizes[number % 2]);
  }

  /// @return The next run of the packed body, of one buffer or of the zeros after it: at most
  ///   `limit` bytes
  packed_run take_run(std::size_t limit) noexcept
  {
    for (; buffer < body.buffers.size(); ++buffer, taken = 0) {
      auto const& [address, bytes] = body.buffers[buffer];
      auto const size              = static_cast<std::size_t>(bytes);
      auto const padded            = static_cast<std::size_t>(ipc_padded(bytes));
      if (taken == padded) { continue; }
      auto const is_data = taken < size;
      auto const run =
        packed_run{is_data ? static_cast<std::byte const*>(address) + taken : nullptr,
                   std::min(limit, (is_data ? size : padded) - taken)};
      taken += run.size;
      return run;
    }
    return {nullptr, 0};
  }

  /// A piece of host memory.
  std::span<std::byte const> next_buffer()
  {
    if (body.location.device_type == ARROW_DEVICE_CUDA_HOST && !is_written) {
      auto const guard = detail::guard_device(body.location);
      RMM_CUDA_TRY(detail::synchronize(stream));
      is_written = true;
    }
    auto const run = take_run(std::numeric_limits<std::size_t>::max());
    if (run.address == nullptr) { return std::span{padding}.first(run.size); }
    return {static_cast<std::byte const*>(run.address), run.size};
  }

  /// Enqueues the copies of the piece after the newest, if there is one.
  void enqueue_piece()
  {
    auto const piece = chunks->piece(num_enqueued);
    auto filled      = std::size_t{0};
    while (filled < piece.size()) {
      auto const run = take_run(piece.size() - filled);
      if (run.size == 0) { break; }
      auto* const target = piece.data() + filled;
      if (run.address == nullptr) {
        std::memset(target, 0, run.size);
      } else {
        chunks->copy(target, run.address, run.size);
      }
      filled += run.size;
    }
    if (filled == 0) { return; }
    chunks->end_piece(num_enqueued);
    sizes[num_enqueued % 2] = filled;
    ++num_enqueued;
  }

  ipc_body body;
  cuda::stream_ref stream;
  std::size_t buffer{0};  ///< the buffer of the next run
  std::size_t taken{0};   ///< consumed bytes of it and of the zeros after it
  bool has_failed{false};
  bool is_written{false};  ///< whether the host has waited for pinned memory
  std::unique_ptr<detail::pinned_chunks> chunks{};  ///< of device memory
  std::array<std::size_t, 2> sizes{};               ///< of the newest pieces
  std::size_t num_enqueued{0};
  std::size_t num_given{0};
};

body_download::body_download(ipc_body body, std::size_t chunk_size, cuda::stream_ref stream)
{
  detail::nvtx_range const range{__func__};
  if (chunk_size == 0) { throw std::invalid_argument{"chunk_size: expected at least 1, got 0"}; }
  if (body.location.device_type != ARROW_DEVICE_CPU) {
    auto const guard = detail::guard_device(body.location);
    detail::require_no_capture(stream);
  }
  state_ = std::make_unique<state>(std::move(body), chunk_size, stream);
}

body_download::~body_download() = default;

std::span<std::byte const> body_download::next()
{
  detail::nvtx_range const range{__func__};
  // A piece that was not copied completely would be missing in the output.
  if (std::exchange(state_->has_failed, true)) {
    throw std::logic_error{"expected a running download, got one that has failed"};
  }
  auto const piece   = state_->next();
  state_->has_failed = false;
  return piece;
}

}  // namespace cudf_arrow_bridge
