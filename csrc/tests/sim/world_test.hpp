// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sim.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sim {

/// Whether `rmm::device_buffer` copies with a function that rmm.cpp replaces. In RAPIDS 26.08 it
/// calls CUDA itself.
#if __has_include(<rmm/detail/cuda_memcpy.hpp>)
inline constexpr bool simulates_copies_of_rmm = true;
#else
inline constexpr bool simulates_copies_of_rmm = false;
#endif

/// Resets the machine to two devices; expects no leftovers and no violations at the end.
class world_test : public testing::Test {
 protected:
  world_test() { reset(1); }

  void TearDown() override
  {
    drain();
    EXPECT_EQ(leftovers(), "");
    EXPECT_EQ(take_violations(), std::vector<std::string>{});
    reset(1);
  }
};

}  // namespace sim
