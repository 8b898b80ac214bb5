// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tree.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/import.hpp>

#include <cstdint>
#include <string>

namespace cudf_arrow_bridge::fuzz {

/// How an import ended.
enum class outcome : std::int8_t {
  equal,     ///< imported, with the values that nanoarrow reads
  imported,  ///< imported; nanoarrow takes no such array, or its contents lead astray
  refused_type,
  refused_value,
  refused_size,
  out_of_memory,
  not_provided  ///< not tried: it would claim more memory than there is
};

constexpr int num_outcomes = 7;

/// One import and how to do it.
struct trial {
  import_options options{};
  bool as_table{false};
  std::int64_t news_until_failure{-1};  ///< allocations that succeed; -1: all
};

/// Something that must never be; its message says what.
struct finding {
  std::string what;
};

/// @return What the last import that was refused said
[[nodiscard]] std::string const& last_refusal();

/**
 * @brief Imports a tree's root, reads and drops what came of it.
 *
 * @throws finding for undocumented exceptions, wrong values, releases that are missing or too many,
 *   memory that is lost or far more than the array has
 */
outcome import_once(tree& target, ArrowDeviceArray device, trial const& how);

}  // namespace cudf_arrow_bridge::fuzz
