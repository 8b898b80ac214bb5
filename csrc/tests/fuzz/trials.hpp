// SPDX-License-Identifier: Apache-2.0
/// @file
/// Calls of the core with mutated structs. All throw a finding for undocumented exceptions, wrong
/// values, missing or repeated releases, leaked memory, and allocations that are far too large.
#pragma once

#include "fuzz/checks.hpp"
#include "fuzz/tree.hpp"

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
  valid_array const* valid{nullptr};    ///< the source of the tree if it is not mutated
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

/// Imports a tree and compares the values.
outcome import_once(tree& target, ArrowDeviceArray device, trial const& setup);

/// Imports a tree through an array stream whose callbacks may fail.
outcome stream_once(tree& target, ArrowDeviceArray device, trial const& setup);

/// Imports a valid tree, mutates its schema, and requests that schema for an export.
outcome request_once(tree& target, trial const& setup);

/// Imports a DLPack tensor that may contradict itself.
outcome import_tensor_once(random_source& random, std::int64_t news_until_failure);

}  // namespace cudf_arrow_bridge::fuzz
