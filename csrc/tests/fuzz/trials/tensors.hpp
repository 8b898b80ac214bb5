// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuzz/oracles/verdict.hpp"
#include "fuzz/structs/random.hpp"

namespace cudf_arrow_bridge::fuzz {

/**
 * @brief Imports a DLPack tensor that may contradict itself.
 *
 * @throws finding as `import_once` does
 *
 * @param news_until_failure Allocations that succeed; -1: all
 */
outcome import_tensor_once(random_source& random, std::int64_t news_until_failure);

}  // namespace cudf_arrow_bridge::fuzz
