// SPDX-License-Identifier: Apache-2.0
#include "cuda/ordering/process.hpp"

#include <cuda_runtime_api.h>

#include <pthread.h>

namespace cudf_arrow_bridge::detail {
namespace {

std::atomic<std::uint32_t> num_forks{0};

[[maybe_unused]] int const registered =
  pthread_atfork(nullptr, nullptr, [] { num_forks.fetch_add(1, std::memory_order_relaxed); });

/// Unlike thread ids of the operating system, these numbers are never reused.
std::uint64_t number_of_this_thread() noexcept
{
  static std::atomic<std::uint64_t> last{0};
  thread_local auto const number = ++last;
  return number;
}

}  // namespace

process_id::process_id() noexcept : num_forks_{num_forks.load(std::memory_order_relaxed)} {}

thread_id::thread_id() noexcept : number_{number_of_this_thread()} {}

cuda::stream_ref thread_id::resolve(cuda::stream_ref stream) const noexcept
{
  auto const is_of_other_thread =
    stream.get() == cudaStreamPerThread && number_ != number_of_this_thread();
  return is_of_other_thread ? cuda::stream_ref{cudaStreamLegacy} : stream;
}

}  // namespace cudf_arrow_bridge::detail
