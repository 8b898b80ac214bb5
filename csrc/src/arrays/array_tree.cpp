// SPDX-License-Identifier: Apache-2.0
#include "arrays/array_tree.hpp"

#include "compute/buffers.hpp"
#include "cuda/location/location.hpp"

#include <rmm/cuda_device.hpp>
#include <rmm/detail/error.hpp>
#include <rmm/mr/per_device_resource.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <stdexcept>
#include <vector>

namespace cudf_arrow_bridge::detail {

array_tree::~array_tree()
{
  // A derived tree does not free buffers.
  if (derived_from != nullptr || stream.get() != cudaStreamPerThread || !ready.is_usable()) {
    return;
  }
  // `cudaStreamPerThread` is a different stream on each thread. The buffers are freed on the stream
  // of this thread, while that of the creating thread may still read them.
  auto const guard = rmm::cuda_set_device_raii{rmm::cuda_device_id{ready.device()}};
  if (ready.order(stream, stream_here()) != cudaSuccess) {
    (void)synchronize(stream_here());
    (void)cudaGetLastError();
  }
}

std::shared_ptr<array_tree> array_tree::derive(std::shared_ptr<array_tree const> const& source)
{
  auto tree               = std::make_shared<array_tree>();
  tree->nodes             = source->nodes;
  tree->location          = source->location;
  tree->derived_from      = source->derived_from == nullptr ? source : source->derived_from;
  tree->copied            = source->copied;
  tree->ready             = source->ready.reference();
  tree->stream            = source->stream;
  tree->is_freed_in_order = source->is_freed_in_order;
  tree->creator_thread_   = source->creator_thread_;
  return tree;
}

std::size_t array_tree::add_nodes(std::size_t count)
{
  auto const first = nodes.size();
  nodes.resize(first + count);
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
  if (!exec.host) { require_no_capture(exec.stream); }
  auto const counts = count_nulls(masks, exec);
  for (std::size_t i = 0; i < counts.size(); ++i) { unknown[i]->null_count = counts[i]; }
}

void array_tree::record_ready(cuda::stream_ref on)
{
  stream = on;
  ready  = pooled_event::acquire();
  RMM_CUDA_TRY(ready.record(stream));
}

array_tree::place array_tree::place_of(device_array const& handle)
{
  if (handle.tree_ == nullptr) { throw std::invalid_argument{"the array is released"}; }
  return {handle.tree_, handle.node_};
}

namespace {

void slice_node(array_node& node, std::int64_t offset, std::int64_t length)
{
  if (node.null_count == node.length) {
    node.null_count = length;
  } else if (node.null_count != 0 && length != node.length) {
    node.null_count = -1;
  }
  if (has_offsets(node.layout) && length != node.length) { node.per_row = 0; }
  // pyarrow rejects arrays with an offset and without rows. The children of structs have rows.
  node.offset = length == 0 && node.num_children == 0 ? 0 : node.offset + offset;
  node.length = length;
}

}  // namespace

std::shared_ptr<array_tree const> slice_tree(std::shared_ptr<array_tree const> const& source,
                                             std::size_t node,
                                             std::int64_t offset,
                                             std::int64_t length,
                                             bool is_table)
{
  auto tree  = array_tree::derive(source);
  auto& root = tree->nodes[node];
  if (is_table) {
    for (std::size_t i = 0; i < root.num_children; ++i) {
      slice_node(tree->nodes[root.first_child + i], root.offset + offset, length);
    }
    root.offset = 0;
    root.length = length;
  } else {
    slice_node(root, offset, length);
  }
  auto const guard = guard_device(tree->location);
  auto const host  = tree->location.device_type == ARROW_DEVICE_CPU;
  auto const mr    = host ? host_memory_resource() : rmm::mr::get_current_device_resource_ref();
  tree->count_unknown_nulls({host, tree->stream_here(), mr});
  return tree;
}

std::shared_ptr<array_tree const> select_children(std::shared_ptr<array_tree const> const& source,
                                                  std::size_t node,
                                                  std::span<std::size_t const> positions)
{
  auto tree         = array_tree::derive(source);
  auto const first  = tree->add_nodes(positions.size());
  auto const& whole = source->nodes[node];
  for (std::size_t i = 0; i < positions.size(); ++i) {
    tree->nodes[first + i] = source->nodes[whole.first_child + positions[i]];
  }
  tree->nodes[node].first_child  = first;
  tree->nodes[node].num_children = positions.size();
  return tree;
}

namespace {

void view_node(array_tree& tree,
               std::size_t index,
               parsed_tree const& types,
               ArrowArray const& array)
{
  auto const& type = types.type;
  auto& node = tree.nodes[index] = {};
  node.layout                    = type.layout;
  node.length                    = array.length;
  node.null_count                = array.null_count;
  node.offset                    = array.offset;
  if (node.layout == array_layout::views) {
    tree.add_view_buffers(node, static_cast<std::size_t>(array.n_buffers));
  }
  for (std::size_t i = 0; i < node.num_buffers(); ++i) { node.buffer(i) = array.buffers[i]; }
  if (node.layout == array_layout::fixed) { node.per_row = type.element_bits; }
  if (node.layout == array_layout::fixed_lists) { node.per_row = type.list_size; }
  node.num_children = static_cast<std::size_t>(array.n_children);
  node.first_child  = tree.add_nodes(node.num_children);
  for (std::size_t i = 0; i < node.num_children; ++i) {
    view_node(tree, node.first_child + i, types.children[i], *array.children[i]);
  }
  if (array.dictionary != nullptr) {
    node.dictionary = tree.add_nodes(1);
    view_node(tree, node.dictionary, types.children[0], *array.dictionary);
  }
}

}  // namespace

std::unique_ptr<array_tree const> view_tree(parsed_tree const& types,
                                            ArrowArray const& array,
                                            memory_location const& location)
{
  auto tree      = std::make_unique<array_tree>();
  tree->location = location;
  view_node(*tree, tree->add_nodes(1), types, array);
  return tree;
}

}  // namespace cudf_arrow_bridge::detail
