// SPDX-License-Identifier: Apache-2.0
/// @file
/// A CUDA runtime without a GPU, for tests, linked instead of the real one. All there is for tests
/// to call beside CUDA's own functions.
#pragma once

#include "counters.hpp"
#include "faults.hpp"
#include "kernels.hpp"
#include "memory.hpp"
#include "world.hpp"
