// SPDX-License-Identifier: Apache-2.0
/// @file
/// Counters of calls to the simulated runtime, and of what they left.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// @return How often a function was called since `reset`, by all threads
[[nodiscard]] std::size_t calls(std::string_view function);

/**
 * @brief How often this thread made a call that waits for a stream, or may.
 *
 * Counted are the synchronising calls, `cudaFree`, `cudaHostAlloc`, and copies from or to pageable
 * memory. Never reset: compare two values.
 */
[[nodiscard]] std::size_t host_syncs_here();

/// @return The same for all threads since `reset`
[[nodiscard]] std::size_t host_syncs();

[[nodiscard]] std::size_t live_events();       ///< Created and not destroyed, ever
[[nodiscard]] std::size_t live_streams();      ///< Created and not destroyed
[[nodiscard]] std::size_t live_allocations();  ///< Allocated and not freed

/// @return The flags that an event was created with; none if there is no such event
[[nodiscard]] std::optional<unsigned int> event_flags(cudaEvent_t event);

/**
 * @brief Messages about invalid uses of CUDA since the last call of this.
 *
 * These are: calling CUDA from a kernel or a host function, synchronising a whole device, freeing
 * memory twice or on a destroyed stream, a kernel that throws. `reset` keeps them, so that a test
 * of many seeds sees those of all seeds.
 */
[[nodiscard]] std::vector<std::string> take_violations();

}  // namespace sim
