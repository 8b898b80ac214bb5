// SPDX-License-Identifier: Apache-2.0
#include "base/nvtx.hpp"
#include "cuda/location/location.hpp"
#include "cuda/ordering/captures.hpp"
#include "cuda/transfer/pinned_chunks.hpp"

#include <cudf_arrow_bridge/ipc.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

namespace cudf_arrow_bridge {
namespace {

/// The last byte of a bitmap in a piece, and its bits that belong to the body.
struct bitmap_end {
  std::byte* address;
  std::byte bits;
};

/// Copies consecutive bytes of a packed body to pieces.
class piece_filler {
 public:
  piece_filler(ipc_body const& body, detail::pinned_chunks& chunks) : body_{body}, chunks_{chunks}
  {
  }

  /// Enqueues the copies of a piece. @return Its size; 0 at the end of the body
  std::size_t enqueue(std::size_t number)
  {
    auto rest  = chunks_.piece(number);
    auto& ends = ends_[number % 2];
    for (; buffer_ < body_.buffers.size() && !rest.empty(); ++buffer_, taken_ = 0) {
      auto const& [address, bytes, last_byte] = body_.buffers[buffer_];
      auto const size                         = static_cast<std::size_t>(bytes);
      if (taken_ < size) {
        auto const count = std::min(rest.size(), size - taken_);
        chunks_.copy(rest.data(), static_cast<std::byte const*>(address) + taken_, count);
        taken_ += count;
        if (taken_ == size && last_byte != std::byte{0xFF}) {
          ends.push_back({rest.data() + count - 1, last_byte});
        }
        rest = rest.subspan(count);
      }
      auto const zeros = std::min(rest.size(), padded_size() - taken_);
      std::memset(rest.data(), 0, zeros);
      taken_ += zeros;
      rest = rest.subspan(zeros);
      if (taken_ < padded_size()) { break; }
    }
    auto const filled = chunks_.piece(number).size() - rest.size();
    if (filled > 0) { chunks_.end_piece(number); }
    return filled;
  }

  /// Clears the bits after the bitmaps in a piece whose copies are done.
  void clear_bits(std::size_t number)
  {
    for (auto const& [address, bits] : ends_[number % 2]) { *address &= bits; }
    ends_[number % 2].clear();
  }

 private:
  [[nodiscard]] std::size_t padded_size() const
  { return static_cast<std::size_t>(ipc_padded(body_.buffers[buffer_].size)); }

  ipc_body const& body_;
  detail::pinned_chunks& chunks_;
  std::size_t buffer_{0};  ///< the buffer of the next byte
  std::size_t taken_{0};   ///< consumed bytes of it and of the zeros after it
  std::array<std::vector<bitmap_end>, 2> ends_{};  ///< of the newest pieces
};

}  // namespace

void download_body(ipc_body const& body,
                   std::size_t chunk_size,
                   body_transfer const& write,
                   cuda::stream_ref stream)
{
  detail::nvtx_range const range{__func__};
  if (chunk_size == 0) { throw std::invalid_argument{"chunk_size: expected at least 1, got 0"}; }
  if (body.location.device_type == ARROW_DEVICE_CPU) {
    throw std::invalid_argument{"the body is in CPU memory"};
  }
  auto const total = static_cast<std::size_t>(body.packed_size());
  if (total == 0) { return; }
  auto const guard = detail::guard_device(body.location);
  detail::require_no_capture(stream);
  auto const chunks =
    std::make_shared<detail::pinned_chunks>(total, chunk_size, stream, body.owner);
  auto filler = piece_filler{body, *chunks};
  auto size   = filler.enqueue(0);
  for (std::size_t number = 0; size > 0; ++number) {
    auto const again = detail::guard_device(body.location);  // `write` may make another one current
    auto const next  = filler.enqueue(number + 1);
    chunks->wait_for_piece(number);
    filler.clear_bits(number);
    write(chunks->piece(number).first(size), chunks);
    size = next;
  }
}

}  // namespace cudf_arrow_bridge
