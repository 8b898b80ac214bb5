// SPDX-License-Identifier: Apache-2.0
/// @file
/// Makes calls of the runtime fail.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

namespace sim {

/**
 * @brief Makes one call of a function fail without doing anything.
 *
 * @param function Name such as "cudaEventRecord"; "sim::allocate" for the memory resources, which
 *   throw
 * @param error What it returns
 * @param after How many calls still succeed first
 */
void fail_next(std::string_view function, cudaError_t error, int after = 0);

/// Makes every call fail with `error`, as after a device fault, until called with `cudaSuccess`.
/// Queued operations still run.
void fail_all(cudaError_t error);

/// Sets the version that the driver reports; 0: no driver. Makes no calls fail by itself.
void set_driver_version(int version);

}  // namespace sim
