// SPDX-License-Identifier: Apache-2.0
/// @file
/// Making calls fail.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

namespace sim {

/**
 * @brief Makes one call of a function fail without doing anything.
 *
 * @param function Such as "cudaEventRecord"; "sim::allocate" for the memory resources, which throw
 * @param error What it returns
 * @param after Calls of it that still succeed before
 */
void fail_next(std::string_view function, cudaError_t error, int after = 0);

/// Makes every call fail from now on, as after a fault of the device, until told `cudaSuccess`.
/// What was queued runs all the same.
void fail_all(cudaError_t error);

/// Makes the driver one of another version: 0 is none at all. Calls fail as far as told, no
/// further.
void set_driver_version(int version);

}  // namespace sim
