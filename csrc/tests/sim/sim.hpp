// SPDX-License-Identifier: Apache-2.0
/// @file
/// A CUDA runtime without a GPU, for tests, linked instead of the real one. All there is for tests
/// to call beside CUDA's own functions.
#pragma once

#include "sim/counters.hpp"
#include "sim/faults.hpp"
#include "sim/kernels.hpp"
#include "sim/memory.hpp"
#include "sim/world.hpp"
