// SPDX-License-Identifier: Apache-2.0
#include "arrays/array_tree.hpp"

#include "arrays/array_structs.hpp"

#include <rmm/cuda_device.hpp>
#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <vector>

namespace cudf_arrow_bridge::detail {

array_tree::~array_tree()
{
  if (stream.get() != cudaStreamPerThread || !ready.is_usable()) { return; }
  // `cudaStreamPerThread` names another stream on each thread. The buffers are freed on the one of
  // this thread, while the one of the creating thread may still be reading them.
  auto const guard = rmm::cuda_set_device_raii{rmm::cuda_device_id{ready.device()}};
  if (ready.order(stream, stream_here()) != cudaSuccess) {
    (void)synchronize(stream_here());
    (void)cudaGetLastError();
  }
}

std::size_t array_tree::add_nodes(std::size_t count)
{
  auto const first = nodes.size();
  nodes.add(count);
  return first;
}

void array_tree::add_view_buffers(array_node& node, std::size_t count)
{
  view_buffers_.push_back(std::make_unique<void const*[]>(count));
  node.view_buffers     = view_buffers_.back().get();
  node.num_view_buffers = static_cast<std::uint32_t>(count);
}

void array_tree::count_unknown_nulls(execution const& exec)
{
  auto unknown = std::vector<array_node*>{};
  auto masks   = std::vector<bit_range>{};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto& node = nodes[i];
    if (node.null_count >= 0) { continue; }
    unknown.push_back(&node);
    masks.push_back({node.first_buffer()[0], node.offset, node.length});
  }
  if (masks.empty()) { return; }
  auto const counts = count_nulls(masks, exec);
  for (std::size_t i = 0; i < counts.size(); ++i) { unknown[i]->null_count = counts[i]; }
}

void array_tree::record_ready(cuda::stream_ref on)
{
  stream = on;
  ready  = pooled_event::acquire();
  RMM_CUDA_TRY(ready.record(stream));
  RMM_CUDA_TRY(cudaStreamGetId(stream.get(), &ready_stream));
}

array_tree::place array_tree::place_of(device_array const& handle)
{
  if (handle.tree_ == nullptr) { throw std::invalid_argument{"the device array was released"}; }
  return {handle.tree_, handle.node_};
}

unique_device_array array_tree::to_arrow(std::shared_ptr<array_tree const> const& tree,
                                         std::size_t node)
{
  unique_device_array result;
  build_array(tree, node, result->array);
  result->device_type = tree->location.device_type;
  result->device_id   = tree->location.device_id;
  // Consumers must not modify the event, although `sync_event` is a pointer to non-const.
  result->sync_event =
    tree->ready ? static_cast<void*>(const_cast<cudaEvent_t*>(tree->ready.handle())) : nullptr;
  return result;
}

}  // namespace cudf_arrow_bridge::detail
