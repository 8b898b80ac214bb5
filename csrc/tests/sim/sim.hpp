// SPDX-License-Identifier: Apache-2.0
/// @file
/// A CUDA runtime without a GPU, which tests link instead of the real runtime. Includes all
/// functions that tests may call in addition to those of CUDA.
#pragma once

#include "sim/counters.hpp"
#include "sim/faults.hpp"
#include "sim/kernels.hpp"
#include "sim/memory.hpp"
#include "sim/world.hpp"
