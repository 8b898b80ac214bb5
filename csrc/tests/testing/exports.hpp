// SPDX-License-Identifier: Apache-2.0
/// @file
/// Checks the invariants of exports that consumers such as libcudf assume about an Arrow array.
///
/// `testing/exports/hook.cpp` is linked into the tests and checks each result of
/// `device_array::to_arrow`.
#pragma once

#include "arrays/array_tree.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace cudf_arrow_bridge::test {

/// Options of the check of an export.
struct export_check_options {
  /// Whether the calling thread may read the memory.
  bool readable;
  /// The allocation that contains an address; empty if not known.
  std::function<std::span<std::byte const>(void const*)> allocation_of{
    [](void const*) { return std::span<std::byte const>{}; }};
};

/**
 * @brief Finds violations of the invariants of exports (docs/invariants.md) at all levels.
 *
 * @return A sentence for each, which begins with the path of the array and the invariant's name
 */
[[nodiscard]] std::vector<std::string> find_export_violations(detail::array_tree const& tree,
                                                              std::size_t node,
                                                              export_check_options const& options);

}  // namespace cudf_arrow_bridge::test
