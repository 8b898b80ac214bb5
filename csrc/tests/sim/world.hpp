// SPDX-License-Identifier: Apache-2.0
/// @file
/// The simulated machine as a whole.
///
/// Replaying a run: everything the simulation decides (which stream's next operation runs, and
/// how many run during a call) is drawn from one generator in the order of the calls made to the
/// runtime. The same seed and the same order of calls give the same run, so a test with one host
/// thread always replays. With several host threads the operating system orders the calls: a seed
/// then fixes how late operations run and which streams are favoured, but not each step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sim {

/**
 * @brief Makes a fresh machine: no memory, no streams, no faults, counters at zero, device 0
 * current.
 *
 * Queued operations run first; memory and streams that were not freed are removed. Events and
 * memory of `cudaHostAlloc` survive, because pools of them may outlive a test. Call it while no
 * other thread uses the runtime.
 *
 * @param seed Decides the order in which operations run, and how late
 * @param devices Number of devices
 */
void reset(std::uint64_t seed, int devices = 2);

/// Runs all queued operations except those held back and those that wait for them. Does not count
/// as a call of CUDA.
void drain();

/// @return What `reset` would remove or run, one per line; empty if the test left nothing
[[nodiscard]] std::string leftovers();

/// One operation that ran: the `number`th of its stream.
struct step {
  std::uint64_t stream;  ///< streams are numbered in the order of their first use since `reset`
  std::uint64_t number;
  friend bool operator==(step const&, step const&) = default;
};

/// @return All operations since `reset`, in the order in which they ran
[[nodiscard]] std::vector<step> history();

}  // namespace sim
