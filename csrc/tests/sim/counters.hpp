// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a test may want to know about what was done to the runtime.
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
 * @brief How often this thread waited for a stream, or made a call that may.
 *
 * Counted are the synchronising calls, `cudaFree`, `cudaHostAlloc`, and copies from or to pageable
 * memory. Never set back: compare two values.
 */
[[nodiscard]] std::size_t host_syncs_here();

/// @return The same for all threads since `reset`
[[nodiscard]] std::size_t host_syncs();

[[nodiscard]] std::size_t live_events();       ///< Created and not destroyed, ever
[[nodiscard]] std::size_t live_streams();      ///< Created and not destroyed
[[nodiscard]] std::size_t live_allocations();  ///< Given out and not freed

/// @return The flags that an event was created with, or none if there is no such event
[[nodiscard]] std::optional<unsigned int> event_flags(cudaEvent_t event);

/**
 * @brief What was done that no program may do, in words, since the last call of this.
 *
 * Calling CUDA from a kernel or a host function, synchronising a whole device, freeing memory
 * twice or on a stream that is gone, a kernel that throws. `reset` forgets none of it, so that a
 * test of many seeds is told what happened with each.
 */
[[nodiscard]] std::vector<std::string> take_violations();

}  // namespace sim
