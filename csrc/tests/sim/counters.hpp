// SPDX-License-Identifier: Apache-2.0
/// @file
/// Counters of calls of the simulated runtime, of live objects and of violations.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// @return The number of calls of a function since `reset`, by all threads
[[nodiscard]] std::size_t calls(std::string_view function);

/**
 * @brief The number of calls of this thread that wait or may wait for a stream.
 *
 * These are synchronizing calls, `cudaFree`, `cudaHostAlloc`, and copies from or to pageable
 * memory. The counter is never reset: compare two values.
 */
[[nodiscard]] std::size_t host_syncs_here();

[[nodiscard]] std::size_t pinned_bytes();      ///< Allocated by `cudaHostAlloc`, ever
[[nodiscard]] std::size_t live_events();       ///< Created and not destroyed, ever
[[nodiscard]] std::size_t live_allocations();  ///< Allocated and not freed

/// @return The flags that an event was created with; none if the event does not exist
[[nodiscard]] std::optional<unsigned int> event_flags(cudaEvent_t event);

/**
 * @brief Messages about invalid uses of CUDA since the last call of this function.
 *
 * Invalid uses are: calling CUDA from a kernel or a host function, freeing memory twice or on a
 * destroyed stream, a kernel that throws. `reset` keeps the messages,
 * so that a test of many seeds sees the messages of all seeds.
 */
[[nodiscard]] std::vector<std::string> take_violations();

}  // namespace sim
