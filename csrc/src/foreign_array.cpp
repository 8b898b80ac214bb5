// SPDX-License-Identifier: Apache-2.0
#include "foreign_array.hpp"

#include "process.hpp"

namespace cudf_arrow_bridge::detail {

void foreign_array::drop_share(cuda::stream_ref stream) noexcept
{
  if (!host_) {
    // What is left of the parent's streams and events in a forked child cannot be waited for.
    if (in_forked_child()) { return; }
    pass(stream);
  }
  if (shares_.fetch_sub(1, std::memory_order_acq_rel) == 1) { finish(); }
}

}  // namespace cudf_arrow_bridge::detail
