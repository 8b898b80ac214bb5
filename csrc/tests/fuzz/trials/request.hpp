// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuzz/oracles/verdict.hpp"
#include "fuzz/structs/tree.hpp"
#include "fuzz/trials/trial.hpp"

namespace cudf_arrow_bridge::fuzz {

/// Changes a tree's schema to a possible or impossible request. The array must not be used after.
void mutate_request(tree& target);

/**
 * @brief Imports a valid tree, mutates its schema, and requests that schema for an export.
 *
 * @throws finding as `import_once` does, and for an export that nanoarrow cannot read or that has
 *   other values
 */
outcome request_once(tree& target, trial const& setup);

}  // namespace cudf_arrow_bridge::fuzz
