// SPDX-License-Identifier: Apache-2.0
#include "base/errors.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <string>

namespace cudf_arrow_bridge::test {
namespace {

TEST(ColumnPath, ShortensTheMiddleOfLongPaths)
{
  auto const name = std::string(90, 'a');
  auto levels     = std::deque<column_path>(1);
  for (auto i = 0; i < 1'000; ++i) { levels.emplace_back(levels.back(), name.c_str()); }
  auto const last = column_path{levels.back(), "last"}.to_string();
  EXPECT_EQ(last.size(), column_path::longest + std::string{"..."}.size());
  EXPECT_TRUE(last.starts_with(name + "." + name));
  EXPECT_TRUE(last.ends_with("a.last"));
  EXPECT_EQ((column_path{levels[2], "last"}.to_string()), name + "." + name + ".last");
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
