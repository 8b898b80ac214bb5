// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sim.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sim {

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
