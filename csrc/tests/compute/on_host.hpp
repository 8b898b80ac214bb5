// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compute/buffers.hpp"
#include "testing/columns.hpp"

namespace cudf_arrow_bridge::test {

/// Return an execution whose operands and results are in host memory.
inline detail::execution on_host() { return {true, stream(), host_memory_resource()}; }

}  // namespace cudf_arrow_bridge::test
