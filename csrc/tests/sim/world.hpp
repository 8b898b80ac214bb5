// SPDX-License-Identifier: Apache-2.0
/// @file
/// The simulated machine as a whole.
///
/// Runs are reproducible. One generator makes all decisions of the simulation (which stream runs
/// its next operation, and how many operations run during a call), in the order of the calls of the
/// runtime. The same seed and the same order of calls give the same run, so a test with one host
/// thread is always reproducible. With several host threads, the operating system orders the calls.
/// The seed then determines how late operations run and which streams run first, but not each step.
#pragma once

#include <cstdint>
#include <string>

namespace sim {

/**
 * @brief Resets the machine: no memory, streams or faults, counters at zero, device 0 current.
 *
 * Queued operations run first. Then memory and streams that were not freed are removed. Events and
 * memory of `cudaHostAlloc` remain, because pools may keep them after a test. Call this function
 * while no other thread uses the runtime.
 *
 * @param seed Determines the order in which operations run, and how late they run
 * @param devices Number of devices
 */
void reset(std::uint64_t seed, int devices = 2);

/// Runs all queued operations, except operations of held streams and operations that wait for
/// these. Does not count as a call of CUDA.
void drain();

/// @return The memory, streams and operations that `reset` would remove or run, one per line
[[nodiscard]] std::string leftovers();

}  // namespace sim
