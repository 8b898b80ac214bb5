// SPDX-License-Identifier: Apache-2.0
#include "foreign_array.hpp"

#include <cuda_runtime_api.h>

namespace cudf_arrow_bridge::detail {
namespace {

/// Unlike the operating system's, numbers of threads that are gone are not used again.
std::uint64_t number_of_this_thread() noexcept
{
  static std::atomic<std::uint64_t> last{0};
  thread_local auto const number = ++last;
  return number;
}

}  // namespace

foreign_array::foreign_array(ArrowDeviceArray* array, bool host)
  : deferred{!host}, array_{array}, host_{host}, made_on_{number_of_this_thread()}
{
}

/// The per-thread default stream has one handle and is another stream on each thread, which no
/// other thread can name. The legacy default stream comes after those of all threads.
cuda::stream_ref foreign_array::named_here(cuda::stream_ref stream) const noexcept
{
  auto const elsewhere = stream.get() == cudaStreamPerThread && made_on_ != number_of_this_thread();
  return elsewhere ? cuda::stream_ref{cudaStreamLegacy} : stream;
}

void foreign_array::drop_share(cuda::stream_ref stream) noexcept
{
  if (!host_) {
    if (!made_in_.is_of_this_process()) { return; }
    pass(named_here(stream));
  }
  if (shares_.fetch_sub(1, std::memory_order_acq_rel) == 1) { finish(); }
}

}  // namespace cudf_arrow_bridge::detail
