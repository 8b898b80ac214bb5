// SPDX-License-Identifier: Apache-2.0
#include "arrays/foreign_array.hpp"

#include "arrays/array_structs.hpp"
#include "cuda/location/device_guard.hpp"

namespace cudf_arrow_bridge::detail {

foreign_array::foreign_array(ArrowDeviceArray* array, bool host)
  : deferred_release{!host}, array_{array}, host_{host}
{
  auto const* tree = tree_of(array_->array);
  if (tree != nullptr && tree->is_freed_in_order) { tree_ = tree; }
}

foreign_array::~foreign_array()
{
  // Of memory of another device than the importing one, as copies are made of.
  auto const is_cuda = array_->device_type == ARROW_DEVICE_CUDA;
  auto const guard   = guard_device(is_cuda ? memory_location{ARROW_DEVICE_CUDA, array_->device_id}
                                            : memory_location{});
  array_.reset();
}

void foreign_array::drop_share(cuda::stream_ref stream) noexcept
{
  if (!host_) {
    if (!made_in_.is_of_this_process()) { return; }
    release_after(made_on_.named_here(stream));
  }
  if (shares_.fetch_sub(1, std::memory_order_acq_rel) != 1) { return; }
  if (tree_ != nullptr && tree_->ready.is_usable()) {
    release_in_order(tree_->stream_here(), tree_->ready.device());
  } else {
    release_when_ready();
  }
}

}  // namespace cudf_arrow_bridge::detail
