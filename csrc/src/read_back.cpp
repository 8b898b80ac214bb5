// SPDX-License-Identifier: Apache-2.0
#include "read_back.hpp"

#include "deferred.hpp"

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <memory>

namespace cudf_arrow_bridge::detail::device {
namespace {

/// Where CUDA writes: not on the stack, since a copy that could not be waited for may still come.
class landing_place : private deferred {
 public:
  landing_place() : deferred{true} {}

  std::int64_t value{0};

  /// Keeps the place until what is enqueued on `stream` so far is done.
  void give_up(cuda::stream_ref stream) noexcept { pass(stream); }

  void leave() noexcept { finish(); }

 private:
  ~landing_place() override = default;
};

}  // namespace

std::int64_t read_integer(void const* source, std::int64_t width, cuda::stream_ref stream)
{
  auto const leave = [](landing_place* place) { place->leave(); };
  auto const place = std::unique_ptr<landing_place, decltype(leave)>{new landing_place, leave};
  auto const size  = static_cast<std::size_t>(width);
  RMM_CUDA_TRY(cudaMemcpyAsync(&place->value, source, size, cudaMemcpyDefault, stream.get()));
  auto const status = cudaStreamSynchronize(stream.get());
  if (status != cudaSuccess) { place->give_up(stream); }
  RMM_CUDA_TRY(status);
  // Little-endian, as CUDA's hosts are: a narrow value fills the low bytes.
  return width == 4 ? static_cast<std::int32_t>(place->value) : place->value;
}

}  // namespace cudf_arrow_bridge::detail::device
