// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuzz/structs/tree.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>

namespace cudf_arrow_bridge::fuzz {

/**
 * @brief Changes one thing, at random, of what a producer says: mostly for the worse.
 *
 * Contents of buffers are changed only where they refer to something whose size is known.
 *
 * @param target Tree to change, which `tree::restore` undoes
 * @param device What the device struct says besides the array
 */
void mutate(tree& target, ArrowDeviceArray& device);

/// Likewise, of what the schema says; arrays may change as well, if nobody looks at them any more.
void mutate_schema(tree& target);

}  // namespace cudf_arrow_bridge::fuzz
