// SPDX-License-Identifier: Apache-2.0
#include "base/nvtx.hpp"
#include "cuda/location/location.hpp"
#include "cuda/ordering/captures.hpp"
#include "cuda/release/deferred_release.hpp"
#include "cuda/transfer/pinned_chunks.hpp"

#include <cudf_arrow_bridge/ipc.hpp>

#include <algorithm>
#include <cstring>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace cudf_arrow_bridge {
namespace {

/// The size of a piece that is copied from host memory: several fit in the caches of a CPU.
constexpr std::size_t memory_piece = std::size_t{1} << 21;
constexpr std::size_t most_threads = 4;

void require_upload(std::size_t chunk_size, cuda::stream_ref stream)
{
  if (!has_gpu()) { throw std::logic_error{"an upload needs a GPU"}; }
  if (chunk_size == 0) { throw std::invalid_argument{"chunk_size: expected at least 1, got 0"}; }
  detail::require_no_capture(stream);
  detail::finish_ready_releases();  // the pinned memory of earlier uploads can be used again
}

/// Fills memory of a device through two pieces of pinned memory.
void upload_pieces(std::span<std::byte> target,
                   std::size_t chunk_size,
                   body_transfer const& read,
                   memory_location const& location,
                   cuda::stream_ref stream)
{
  if (target.empty()) { return; }
  auto const guard = detail::guard_device(location);
  auto const chunks =
    std::make_shared<detail::pinned_chunks>(target.size(), chunk_size, stream, nullptr);
  for (std::size_t number = 0; !target.empty(); ++number) {
    if (number >= chunks->num_pieces()) { chunks->wait_for_piece(number - chunks->num_pieces()); }
    auto const whole = chunks->piece(number);
    auto const piece = whole.first(std::min(whole.size(), target.size()));
    read(piece, chunks);
    auto const again = detail::guard_device(location);  // `read` may make another device current
    chunks->copy(target.data(), piece.data(), piece.size());
    chunks->end_piece(number);
    target = target.subspan(piece.size());
  }
}

/// @return The number of threads that copy host memory
std::size_t num_threads(std::size_t size, std::size_t chunk_size, cuda::stream_ref stream)
{
  // On another thread this handle means another stream.
  if (stream.get() == cudaStreamPerThread) { return 1; }
  auto const most = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, most_threads);
  return std::clamp<std::size_t>((size + chunk_size - 1) / chunk_size, 1, most);
}

}  // namespace

rmm::device_buffer upload_body(std::size_t size,
                               std::size_t chunk_size,
                               body_transfer const& read,
                               cuda::stream_ref stream,
                               rmm::device_async_resource_ref mr)
{
  detail::nvtx_range const range{__func__};
  require_upload(chunk_size, stream);
  auto memory = rmm::device_buffer{size, stream, mr};
  upload_pieces({static_cast<std::byte*>(memory.data()), size},
                chunk_size,
                read,
                detail::current_location(),
                stream);
  return memory;
}

rmm::device_buffer upload_body(std::span<std::byte const> source,
                               std::size_t chunk_size,
                               cuda::stream_ref stream,
                               rmm::device_async_resource_ref mr)
{
  detail::nvtx_range const range{__func__};
  require_upload(chunk_size, stream);
  auto memory           = rmm::device_buffer{source.size(), stream, mr};
  auto* const target    = static_cast<std::byte*>(memory.data());
  auto const location   = detail::current_location();
  auto const piece_size = std::min(chunk_size, memory_piece);
  auto const threads    = num_threads(source.size(), piece_size, stream);
  auto const share      = (source.size() + threads - 1) / threads;
  auto const copy       = [=](std::size_t begin) {
    auto from       = source.subspan(begin, std::min(share, source.size() - begin));
    auto const read = [&](std::span<std::byte> piece, std::shared_ptr<void const> const&) {
      std::memcpy(piece.data(), from.data(), piece.size());
      from = from.subspan(piece.size());
    };
    upload_pieces({target + begin, from.size()}, piece_size, read, location, stream);
  };
  // Destroyed before the memory: a future waits for its thread.
  auto others = std::vector<std::future<void>>{};
  for (auto begin = share; begin < source.size(); begin += share) {
    others.push_back(std::async(std::launch::async, copy, begin));
  }
  copy(0);
  for (auto& other : others) { other.get(); }
  return memory;
}

}  // namespace cudf_arrow_bridge
