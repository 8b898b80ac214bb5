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

/// Little-endian, as CUDA's hosts are: a narrow value fills the low bytes.
std::int64_t widen(std::int64_t value, std::int64_t width)
{
  switch (width) {
    case 2: return static_cast<std::int16_t>(value);
    case 4: return static_cast<std::int32_t>(value);
    default: return value;
  }
}

/// As many integers as there are sources, up to two.
std::array<std::int64_t, 2> read(std::span<void const* const> sources,
                                 std::int64_t width,
                                 cuda::stream_ref stream)
{
  auto const leave = [](landing_place* place) { place->leave(); };
  auto const place = std::unique_ptr<landing_place, decltype(leave)>{new landing_place, leave};
  auto const size  = static_cast<std::size_t>(width);
  auto status      = cudaSuccess;
  for (std::size_t i = 0; i < sources.size() && status == cudaSuccess; ++i) {
    status = cudaMemcpyAsync(&place->values[i], sources[i], size, cudaMemcpyDefault, stream.get());
    if (status != cudaSuccess && i > 0) { place->give_up(stream); }
  }
  RMM_CUDA_TRY(status);
  status = cudaStreamSynchronize(stream.get());
  if (status != cudaSuccess) { place->give_up(stream); }
  RMM_CUDA_TRY(status);
  return {widen(place->values[0], width), widen(place->values[1], width)};
}

}  // namespace

std::int64_t read_integer(void const* source, std::int64_t width, cuda::stream_ref stream)
{ return read(std::array{source}, width, stream)[0]; }

offset_ends read_ends(void const* offsets,
                      std::int64_t size,
                      std::int64_t width,
                      placement const& where)
{
  auto const* last = static_cast<std::byte const*>(offsets) + size * width;
  auto const [one, two] =
    read(std::array{offsets, static_cast<void const*>(last)}, width, where.stream);
  return {one, two};
}

}  // namespace cudf_arrow_bridge::detail::device
