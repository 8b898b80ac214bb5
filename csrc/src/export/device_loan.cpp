// SPDX-License-Identifier: Apache-2.0
#include "base/nvtx.hpp"
#include "cuda/location/device_guard.hpp"
#include "cuda/ordering/order_at_end.hpp"

#include <cudf_arrow_bridge/export.hpp>
#include <cudf_arrow_bridge/memory.hpp>

#include <memory>

namespace cudf_arrow_bridge {

device_loan::device_loan(device_array const& array,
                         cuda::stream_ref owner,
                         cuda::stream_ref borrower)
  : array_{array}
{
  detail::nvtx_range const range{"device_loan"};
  auto const guard = detail::guard_device(array.location());
  if (!has_gpu()) { return; }
  order_ = std::make_unique<detail::order_at_end const>(owner, borrower);
  array.make_wait(borrower);
}

fence_id device_loan::add_fence(fence_set& fences) const
{
  auto const guard = detail::guard_device(array_.location());
  return fences.add(order_ == nullptr ? cuda::stream_ref{cudaStream_t{}} : order_->earlier());
}

device_loan::~device_loan() { end(); }

void device_loan::end() noexcept
{
  order_.reset();
  // Behind the order: this may be what frees the memory, on the owner's stream.
  array_.reset();
}

}  // namespace cudf_arrow_bridge
