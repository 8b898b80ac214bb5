// SPDX-License-Identifier: Apache-2.0
#include "process.hpp"

#include <pthread.h>

#include <atomic>

namespace cudf_arrow_bridge::detail {
namespace {

std::atomic<bool> forked{false};

[[maybe_unused]] int const registered =
  pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });

}  // namespace

bool in_forked_child() noexcept { return forked.load(std::memory_order_relaxed); }

}  // namespace cudf_arrow_bridge::detail
