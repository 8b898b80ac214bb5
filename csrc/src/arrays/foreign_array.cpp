// SPDX-License-Identifier: Apache-2.0
#include "arrays/foreign_array.hpp"

namespace cudf_arrow_bridge::detail {

foreign_array::foreign_array(ArrowDeviceArray* array, bool host)
  : deferred_release{!host}, array_{array}, host_{host}
{
}

void foreign_array::drop_share(cuda::stream_ref stream) noexcept
{
  if (!host_) {
    if (!made_in_.is_of_this_process()) { return; }
    release_after(made_on_.named_here(stream));
  }
  if (shares_.fetch_sub(1, std::memory_order_acq_rel) == 1) { release_when_ready(); }
}

}  // namespace cudf_arrow_bridge::detail
