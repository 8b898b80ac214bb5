// SPDX-License-Identifier: Apache-2.0
#include "array_tree.hpp"

namespace cudf_arrow_bridge::detail {

void array_node::write(ArrowArray& array) const noexcept
{
  array.length     = length;
  array.null_count = null_count;
  array.offset     = offset;
  array.n_buffers  = static_cast<std::int64_t>(num_buffers());
  // Consumers have no business writing here, so all structs of a tree share these pointers.
  auto const* first = layout == array_layout::views ? view_buffers.data() : buffers.data();
  array.buffers     = array.n_buffers == 0 ? nullptr : const_cast<void const**>(first);
}

unique_device_array array_tree::to_arrow(std::shared_ptr<array_tree const> const& tree,
                                         std::size_t node)
{
  unique_device_array result;
  struct_block<ArrowArray>::write(result->array, tree, node);
  result->device_type = tree->location.device_type;
  result->device_id   = tree->location.device_id;
  // The specification has consumers read the event only, though the pointer's type lets them write.
  result->sync_event =
    tree->ready ? static_cast<void*>(const_cast<cudaEvent_t*>(tree->ready.handle())) : nullptr;
  return result;
}

}  // namespace cudf_arrow_bridge::detail
