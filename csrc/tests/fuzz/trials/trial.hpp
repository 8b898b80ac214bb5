// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuzz/oracles/verdict.hpp"
#include "fuzz/structs/tree.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/import.hpp>

#include <cudf/column/column_view.hpp>

#include <cstdint>

namespace cudf_arrow_bridge::fuzz {

/// Parameters of one import.
struct trial {
  import_options options{};
  bool as_table{false};
  bool prepared{false};                 ///< whether to use `array_importer`
  bool is_valid{false};                 ///< whether the tree is not mutated
  std::int64_t news_until_failure{-1};  ///< allocations that succeed; -1: all
};

/// A device struct for host memory, without its array.
[[nodiscard]] ArrowDeviceArray on_cpu();

/// The tree's array with a release callback that poisons the tree's memory.
[[nodiscard]] ArrowDeviceArray hand_over(tree& target, ArrowDeviceArray device);

/// Throws a finding if a column violates libcudf's invariants.
void check_invariants(cudf::column_view const& column, trial const& setup);

/// Throws a finding unless the root was released once (if `expected`) or not at all.
void check_releases(tree& target, bool expected);

/// Imports an array and compares the values. To be called within `judge`.
outcome import_and_compare(tree& target,
                           ArrowSchema const& schema,
                           ArrowDeviceArray& device,
                           trial const& setup);

/**
 * @brief Imports a tree and compares the values.
 *
 * @throws finding for undocumented exceptions, wrong values, missing or repeated releases, leaked
 *   memory, and allocations that are far larger than the array
 */
outcome import_once(tree& target, ArrowDeviceArray device, trial const& setup);

}  // namespace cudf_arrow_bridge::fuzz
