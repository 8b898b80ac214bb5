// SPDX-License-Identifier: Apache-2.0
#include "cuda/ordering/process.hpp"

#include <pthread.h>

namespace cudf_arrow_bridge::detail {
namespace {

std::atomic<std::uint32_t> num_forks{0};

[[maybe_unused]] int const registered =
  pthread_atfork(nullptr, nullptr, [] { num_forks.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

process_stamp::process_stamp() noexcept : num_forks_{num_forks.load(std::memory_order_relaxed)} {}

}  // namespace cudf_arrow_bridge::detail
