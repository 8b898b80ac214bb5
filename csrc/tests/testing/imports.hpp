// SPDX-License-Identifier: Apache-2.0
/// @file
/// Checks imports of tests: that libcudf's invariants hold, and that its algorithms would read the
/// imported rows.
#pragma once

#include "testing/expect_invariants.hpp"
#include "testing/reading.hpp"
#include "testing/views.hpp"

#include <cudf_arrow_bridge/import.hpp>

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

/// Check the rows of an import, read as libcudf's algorithms read them.
inline void expect_rows(cudf::column_view const& column, shape const& type, rows const& expected)
{
  EXPECT_EQ(read_rows(column, type), expected);
  EXPECT_EQ(read_taken_apart(column, type), expected);
}

}  // namespace cudf_arrow_bridge::test
