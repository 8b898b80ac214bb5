// SPDX-License-Identifier: Apache-2.0
/// @file
/// The simulated machine as a whole: made anew by `reset`, looked over by `leftovers`.
///
/// What is replayable: everything the simulation decides (which stream's next operation runs, and
/// how many run during a call) is drawn from one generator in the order of the calls made to the
/// runtime. The same seed and the same order of calls give the same run, so a test with one host
/// thread always replays. Where several host threads call, the operating system orders the calls:
/// a seed then fixes the temper of the run (how late operations are, which streams are favoured),
/// not each step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sim {

/**
 * @brief Makes a fresh machine: no memory, no streams, no faults, counters at zero, device 0
 * current.
 *
 * Whatever was still queued runs first; memory and streams that nobody freed are taken away. Events
 * and memory of `cudaHostAlloc` survive, because pools of them may outlive a test as they outlive a
 * query. Call it while no other thread uses the runtime.
 *
 * @param seed Decides in which order and how late operations run
 * @param devices Number of devices
 */
void reset(std::uint64_t seed, int devices = 2);

/// Runs whatever is queued, but for what is held back and what waits for it. Not a call of CUDA.
void drain();

/// @return What `reset` would take away or wait for, one per line: empty after a tidy test
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
