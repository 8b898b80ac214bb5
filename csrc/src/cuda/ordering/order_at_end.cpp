// SPDX-License-Identifier: Apache-2.0
#include "cuda/ordering/order_at_end.hpp"

#include <cuda_runtime_api.h>

namespace cudf_arrow_bridge::detail {

order_at_end::~order_at_end()
{
  // CUDA does not survive a fork: a child must not use it for memory of its parent.
  if (!made_in_.is_of_this_process()) { return; }
  // Handles of default streams refer to the current device.
  auto device = 0;
  if (cudaGetDevice(&device) == cudaSuccess && cudaSetDevice(event_.device()) == cudaSuccess) {
    if (event_.order(made_on_.named_here(later_), earlier()) != cudaSuccess) {
      (void)synchronize(earlier());
    }
    (void)cudaSetDevice(device);
  }
  (void)cudaGetLastError();
}

}  // namespace cudf_arrow_bridge::detail
