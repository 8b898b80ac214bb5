// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuzz/oracles/verdict.hpp"
#include "fuzz/structs/tree.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/import.hpp>

#include <cudf/column/column_view.hpp>

#include <cstdint>

namespace cudf_arrow_bridge::fuzz {

/// One import and how to do it.
struct trial {
  import_options options{};
  bool as_table{false};
  bool borrowed{false};  ///< whether flat columns of a table stay the producer's
  bool prepared{false};  ///< whether the schema is looked at before there is an array
  bool is_valid{false};  ///< whether the producer says the truth
  std::int64_t news_until_failure{-1};  ///< allocations that succeed; -1: all
};

/// What a device struct of host memory says besides the array.
[[nodiscard]] ArrowDeviceArray on_cpu();

/// A tree's array as its producer hands it over: with a release that conceals all of the tree.
[[nodiscard]] ArrowDeviceArray hand_over(tree& target, ArrowDeviceArray device);

/// Throws a finding if libcudf's algorithms would not take a column of contents that make sense.
void check_invariants(cudf::column_view const& column, trial const& how);

/// Throws a finding unless the root has been released once, or not at all.
void check_releases(tree& target, bool expected);

/// Imports an array that was handed over, reads and drops what came of it. To be judged.
outcome import_and_compare(tree& target,
                           ArrowSchema const& schema,
                           ArrowDeviceArray& device,
                           trial const& how);

/**
 * @brief Imports a tree's root, reads and drops what came of it.
 *
 * @throws finding for undocumented exceptions, wrong values, releases that are missing or too many,
 *   memory that is lost or far more than the array has
 */
outcome import_once(tree& target, ArrowDeviceArray device, trial const& how);

}  // namespace cudf_arrow_bridge::fuzz
