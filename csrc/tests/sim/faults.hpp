// SPDX-License-Identifier: Apache-2.0
/// @file
/// Makes calls of the runtime fail or last.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string_view>

namespace sim {

/**
 * @brief Makes one call of a function fail without executing it.
 *
 * @param function Name such as "cudaEventRecord"; "sim::allocate" for the memory resources, which
 *   throw
 * @param error Error that the call returns
 * @param after Number of calls that succeed before it
 */
void fail_next(std::string_view function, cudaError_t error, int after = 0);

/// Makes the next call of a function last until `action`, which it calls first, has returned. Other
/// threads can use the runtime meanwhile.
void delay_next(std::string_view function, std::function<void()> action);

/// Makes every call fail with `error`, as after a device fault, until called with `cudaSuccess`.
/// Queued operations still run.
void fail_all(cudaError_t error);

/// Sets the version that the driver reports; 0: no driver. Does not make calls fail.
void set_driver_version(int version);

}  // namespace sim
