// SPDX-License-Identifier: Apache-2.0
#include "cuda/ordering/thread_stamp.hpp"

#include <cuda_runtime_api.h>

#include <atomic>

namespace cudf_arrow_bridge::detail {
namespace {

/// Unlike thread ids of the operating system, these numbers are never reused.
std::uint64_t number_of_this_thread() noexcept
{
  static std::atomic<std::uint64_t> last{0};
  thread_local auto const number = ++last;
  return number;
}

}  // namespace

thread_stamp::thread_stamp() noexcept : number_{number_of_this_thread()} {}

cuda::stream_ref thread_stamp::named_here(cuda::stream_ref stream) const noexcept
{
  auto const is_of_other_thread =
    stream.get() == cudaStreamPerThread && number_ != number_of_this_thread();
  return is_of_other_thread ? cuda::stream_ref{cudaStreamLegacy} : stream;
}

}  // namespace cudf_arrow_bridge::detail
