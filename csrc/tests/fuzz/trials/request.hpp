// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuzz/oracles/verdict.hpp"
#include "fuzz/structs/tree.hpp"
#include "fuzz/trials/trial.hpp"

namespace cudf_arrow_bridge::fuzz {

/// Changes a tree's schema to one that somebody may ask for, or should not. Its array stays.
void mutate_request(tree& target);

/**
 * @brief Imports a valid tree, and exports what came of it as the tree's schema says once changed.
 *
 * @throws finding as `import_once` does, and for an export that nanoarrow does not read, or whose
 *   values are others
 */
outcome request_once(tree& target, trial const& how);

}  // namespace cudf_arrow_bridge::fuzz
