// SPDX-License-Identifier: Apache-2.0
/// @file
/// Checks imports of tests: that libcudf's invariants hold, and that its algorithms would read the
/// imported rows.
#pragma once

#include "testing/expect_invariants.hpp"
#include "testing/reading.hpp"
#include "testing/views.hpp"

#include <cudf_arrow_bridge/import.hpp>

#include <utility>
#include <vector>

namespace cudf_arrow_bridge::test {

inline imported_column checked(imported_column imported, import_options const& options = {})
{
  expect_invariants(imported.view(), {.sanitized = options.sanitize});
  return imported;
}

inline imported_table checked(imported_table imported, import_options const& options = {})
{
  for (auto const& column : imported.view()) {
    expect_invariants(column, {.sanitized = options.sanitize});
  }
  return imported;
}

/// Check the rows of an import, read in each way in which libcudf's algorithms read.
inline void expect_rows(cudf::column_view const& column, shape const& type, rows const& expected)
{
  EXPECT_EQ(read_rows(column, type), expected);
  EXPECT_EQ(read_taken_apart(column, type), expected);
  auto const half  = column.size() / 2;
  auto const parts = std::vector{slice(column, 0, half), slice(column, half, column.size())};
  EXPECT_EQ(read_concatenated(parts, type), expected);
  auto twice = expected;
  twice.insert(twice.end(), expected.begin(), expected.end());
  EXPECT_EQ(read_concatenated(std::vector{column, column}, type), twice);
}

}  // namespace cudf_arrow_bridge::test
