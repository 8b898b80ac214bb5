// SPDX-License-Identifier: Apache-2.0
/// @file
/// The check of libcudf's invariants as an expectation of a test.
#pragma once

#include "testing/invariants.hpp"

#include <gtest/gtest.h>

namespace cudf_arrow_bridge::test {

inline void expect_invariants(cudf::column_view const& column,
                              invariant_options const& options = {})
{
  for (auto const& found : find_violations(column, options)) { ADD_FAILURE() << describe(found); }
}

}  // namespace cudf_arrow_bridge::test
