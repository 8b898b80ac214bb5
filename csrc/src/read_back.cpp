// SPDX-License-Identifier: Apache-2.0
#include "read_back.hpp"

#include "deferred.hpp"

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace cudf_arrow_bridge::detail::device {
namespace {

/// Where CUDA writes: not on the stack, since a copy that could not be waited for may still come.
class landing_place : private deferred {
 public:
  landing_place() : deferred{true} {}

  std::array<std::int64_t, 2> values{};

  /// Keeps the place until what is enqueued on `stream` so far is done.
  void give_up(cuda::stream_ref stream) noexcept { pass(stream); }

  void leave() noexcept { finish(); }

 private:
  ~landing_place() override = default;
};

std::array<std::int64_t, 2> read(std::span<void const* const> sources,
                                 std::int64_t width,
                                 cuda::stream_ref stream)
{
  auto const leave = [](landing_place* place) { place->leave(); };
  auto const place = std::unique_ptr<landing_place, decltype(leave)>{new landing_place, leave};
  auto status      = cudaSuccess;
  for (std::size_t i = 0; i < sources.size() && status == cudaSuccess; ++i) {
    status = cudaMemcpyAsync(&place->values[i],
                             sources[i],
                             static_cast<std::size_t>(width),
                             cudaMemcpyDefault,
                             stream.get());
  }
  if (status == cudaSuccess) { status = cudaStreamSynchronize(stream.get()); }
  if (status != cudaSuccess) { place->give_up(stream); }
  RMM_CUDA_TRY(status);
  auto result = place->values;
  // Little-endian, as CUDA's hosts are: a narrow value fills the low bytes.
  for (auto& value : result) {
    if (width == 4) { value = static_cast<std::int32_t>(value); }
  }
  return result;
}

}  // namespace

std::int64_t read_integer(void const* source, std::int64_t width, cuda::stream_ref stream)
{ return read({&source, 1}, width, stream)[0]; }

offset_ends read_ends(void const* offsets,
                      std::int64_t size,
                      std::int64_t width,
                      cuda::stream_ref stream)
{
  auto const* last   = static_cast<std::byte const*>(offsets) + size * width;
  auto const sources = std::array<void const*, 2>{offsets, last};
  auto const ends    = read(sources, width, stream);
  return {ends[0], ends[1]};
}

}  // namespace cudf_arrow_bridge::detail::device
