// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuzz/structs/tree.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>

namespace cudf_arrow_bridge::fuzz {

/**
 * @brief Makes one random change to a tree or its device struct, which mostly invalidates it.
 *
 * Buffer contents are changed only where validation can detect it.
 *
 * @param target Tree to change, which `tree::restore` undoes
 * @param device The device struct, whose array is not read
 */
void mutate(tree& target, ArrowDeviceArray& device);

/// Makes one random change to the schema. It may change arrays too, so they must not be used after.
void mutate_schema(tree& target);

}  // namespace cudf_arrow_bridge::fuzz
