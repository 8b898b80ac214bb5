// SPDX-License-Identifier: Apache-2.0
#include "arrays/array_tree.hpp"

#include <rmm/cuda_device.hpp>
#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <stdexcept>

namespace cudf_arrow_bridge::detail {

std::int64_t row_buffer::size(std::int64_t rows) const noexcept
{
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  if (bits > 0 && rows > (most - 7) / bits - more_rows) { return most; }
  return bytes_for_bits((rows + more_rows) * bits);
}

std::vector<row_buffer> array_node::row_buffers() const
{
  auto const bits = offset_width(layout) * 8;
  switch (layout) {
    case array_layout::null:
    case array_layout::runs: return {};
    case array_layout::validity:
    case array_layout::fixed_lists: return {{"validity", 1}};
    case array_layout::fixed: return {{"validity", 1}, {"data", per_row}};
    case array_layout::views: return {{"validity", 1}, {"views", 128}};
    case array_layout::list_views32:
    case array_layout::list_views64: return {{"validity", 1}, {"offsets", bits}, {"sizes", bits}};
    default: return {{"validity", 1}, {"offsets", bits, 1}};
  }
}

std::vector<data_size> array_node::data_sizes(bool host) const
{
  auto result = std::vector<data_size>{};
  if (layout == array_layout::string32 || layout == array_layout::string64) {
    auto const width  = offset_width(layout);
    auto const* first = static_cast<std::byte const*>(buffers[1]);
    auto const* last  = first == nullptr ? nullptr : first + (offset + length) * width;
    result.push_back({2, {last, width}});
  } else if (layout == array_layout::views) {
    auto const last   = std::size_t{num_view_buffers} - 1;
    auto const* sizes = static_cast<std::int64_t const*>(view_buffers[last]);
    // They may be in host memory also for arrays on a device.
    auto const is_on_host = host || (last > 2 && locate(sizes).device_type == ARROW_DEVICE_CPU);
    for (auto i = std::size_t{2}; i < last; ++i) {
      result.push_back({i, {sizes++, 8, is_on_host}});
    }
  }
  return result;
}

void array_node::slice(std::int64_t begin, std::int64_t size)
{
  if (layout == array_layout::null || null_count == length || size == 0) {
    null_count = size;
  } else if (null_count != 0 && size != length) {
    null_count = -1;
  }
  if (has_offsets(layout) && size != length) { per_row = 0; }
  offset += begin;
  length = size;
}

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

}  // namespace cudf_arrow_bridge::detail
