// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuzz/oracles/verdict.hpp"
#include "fuzz/structs/tree.hpp"
#include "fuzz/trials/trial.hpp"

namespace cudf_arrow_bridge::fuzz {

/**
 * @brief Imports a tree through an array stream whose callbacks may fail.
 *
 * @throws finding as `import_once` does, and for a stream or schema that is not released once
 */
outcome feed_once(tree& target, ArrowDeviceArray device, trial const& setup);

}  // namespace cudf_arrow_bridge::fuzz
