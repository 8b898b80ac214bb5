// SPDX-License-Identifier: Apache-2.0
#include "arrays/array_tree.hpp"
#include "base/nvtx.hpp"
#include "compute/buffers.hpp"
#include "cuda/location/location.hpp"
#include "cuda/ordering/events.hpp"

#include <cudf_arrow_bridge/export.hpp>
#include <cudf_arrow_bridge/memory.hpp>

#include <rmm/detail/error.hpp>
#include <rmm/mr/per_device_resource.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge {
namespace {

using detail::array_layout;
using detail::array_node;
using detail::array_tree;

array_node const& node_of(std::shared_ptr<array_tree const> const& tree, std::size_t node)
{
  if (tree == nullptr) { throw std::invalid_argument{"the array is released"}; }
  return tree->nodes[node];
}

/// Reads the sizes of the data buffers of all nodes of a tree, on a device with one
/// synchronization.
/// @return The sizes by their addresses
std::unordered_map<void const*, std::int64_t> read_sizes(array_tree const& tree)
{
  auto const guard = detail::guard_device(tree.location);
  auto const host  = tree.location.device_type == ARROW_DEVICE_CPU;
  auto places      = std::vector<detail::stored_integer>{};
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    for (auto const& [buffer, place] : tree.nodes[i].data_sizes(host)) {
      if (place.address != nullptr) { places.push_back(place); }
    }
  }
  auto const sizes = detail::read_integers(places, host, tree.stream_here());
  auto result      = std::unordered_map<void const*, std::int64_t>{};
  for (std::size_t i = 0; i < sizes.size(); ++i) { result[places[i].address] = sizes[i]; }
  return result;
}

/// Why memory was made before the export; empty if it was not.
std::string_view reason_of(void const* address, std::vector<copied_buffer> const* copied)
{
  if (copied == nullptr || address == nullptr) { return {}; }
  auto const* byte  = static_cast<std::byte const*>(address);
  auto const holder = std::find_if(copied->begin(), copied->end(), [byte](auto const& memory) {
    auto const* first = static_cast<std::byte const*>(memory.address);
    return byte >= first && byte < first + memory.size;
  });
  return holder == copied->end() ? std::string_view{} : holder->reason;
}

}  // namespace

device_array::device_array(std::shared_ptr<array_tree const> tree, std::size_t node) noexcept
  : tree_{std::move(tree)}, node_{node}
{
}

unique_device_array device_array::to_arrow() const
{
  detail::nvtx_range const range{__func__};
  node_of(tree_, node_);
  return array_tree::to_arrow(tree_, node_);
}

unique_array device_array::to_arrow_host() const
{
  detail::nvtx_range const range{__func__};
  auto const is_on_gpu = location().device_type == ARROW_DEVICE_CUDA;
  auto const readable  = is_on_gpu ? to_host(tree_->stream_here()) : *this;
  // `ArrowArray` has no `sync_event`, so the host waits here.
  readable.wait();
  auto structs = readable.to_arrow();
  return unique_array{&structs->array};
}

device_array device_array::to_host(cuda::stream_ref stream) const
{
  detail::nvtx_range const range{__func__};
  if (location().device_type == ARROW_DEVICE_CPU) { return *this; }
  auto const guard = detail::guard_device(location());
  make_wait(stream);
  auto copy = detail::copy_tree(*tree_, node_, memory_location{}, stream, host_memory_resource());
  copy->count_unknown_nulls({true, stream, host_memory_resource()});
  return array_tree::handle(std::move(copy));
}

device_array device_array::copy(std::shared_ptr<void const> owner,
                                cuda::stream_ref stream,
                                rmm::device_async_resource_ref mr) const
{
  detail::nvtx_range const range{__func__};
  auto const exec  = detail::execution{location(), stream, mr};
  auto const guard = detail::guard_device(location());
  make_wait(stream);
  return array_tree::handle(detail::copy_on_same_device(tree_, node_, std::move(owner), exec));
}

void device_array::make_wait(cuda::stream_ref stream) const
{
  auto const guard = detail::guard_device(location());
  if (!tree_->ready) { return; }
  detail::require_no_capture(stream);
  RMM_CUDA_TRY(cudaStreamWaitEvent(stream.get(), *tree_->ready.handle()));
}

void device_array::wait() const
{
  node_of(tree_, node_);
  if (tree_->ready) { RMM_CUDA_TRY(tree_->ready.wait()); }
}

bool device_array::is_ready() const
{
  node_of(tree_, node_);
  if (!tree_->ready) { return true; }
  auto const status = tree_->ready.query();
  if (status == cudaErrorNotReady) { return false; }
  RMM_CUDA_TRY(status);
  return true;
}

fence_id device_array::add_fence(fence_set& fences) const
{
  node_of(tree_, node_);
  return fences.add(tree_->ready, tree_);
}

memory_location device_array::location() const
{
  node_of(tree_, node_);
  return tree_->location;
}

std::int64_t device_array::length() const { return node_of(tree_, node_).length; }

std::int64_t device_array::null_count() const { return node_of(tree_, node_).null_count; }

std::int64_t device_array::offset() const { return node_of(tree_, node_).offset; }

std::int64_t device_array::num_children() const
{ return static_cast<std::int64_t>(node_of(tree_, node_).num_children); }

device_array device_array::child(std::int64_t index) const
{
  if (index < 0 || index >= num_children()) {
    throw std::out_of_range{"the array has no child " + std::to_string(index)};
  }
  return {tree_, node_of(tree_, node_).first_child + static_cast<std::size_t>(index)};
}

device_array device_array::slice(std::int64_t offset, std::int64_t length, bool is_table) const
{
  detail::nvtx_range const range{__func__};
  auto const rows = this->length();
  if (is_table && node_of(tree_, node_).layout != array_layout::validity) {
    throw std::invalid_argument{"the array has no fields, so it is not a table"};
  }
  if (offset < 0 || length < 0 || offset > rows || length > rows - offset) {
    throw std::out_of_range{"expected a slice of " + std::to_string(rows) + " rows, got " +
                            std::to_string(length) + " rows from row " + std::to_string(offset)};
  }
  auto tree         = array_tree::derive(tree_);
  auto& root        = tree->nodes[node_];
  auto const reduce = [&](array_node& node, std::int64_t begin) {
    node.slice(begin, length);
    // pyarrow rejects arrays with an offset and without rows. The children of structs have rows.
    if (length == 0 && node.num_children == 0) { node.offset = 0; }
  };
  if (is_table) {
    for (std::size_t i = 0; i < root.num_children; ++i) {
      reduce(tree->nodes[root.first_child + i], root.offset + offset);
    }
    root.offset = 0;
    root.length = length;
  } else {
    reduce(root, offset);
  }
  auto const guard = detail::guard_device(tree->location);
  auto const host  = tree->location.device_type == ARROW_DEVICE_CPU;
  auto const mr    = host ? host_memory_resource() : rmm::mr::get_current_device_resource_ref();
  tree->count_unknown_nulls({host, tree->stream_here(), mr});
  return {std::move(tree), node_};
}

device_array device_array::select(std::span<std::size_t const> indices) const
{
  auto const& node = node_of(tree_, node_);
  if (node.layout != array_layout::validity) {
    throw std::invalid_argument{"the array has no fields"};
  }
  for (auto const index : indices) {
    if (index >= node.num_children) {
      throw std::out_of_range{"the array has no child " + std::to_string(index)};
    }
  }
  auto tree        = array_tree::derive(tree_);
  auto const first = tree->add_nodes(indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    tree->nodes[first + i] = tree_->nodes[node.first_child + indices[i]];
  }
  tree->nodes[node_].first_child  = first;
  tree->nodes[node_].num_children = indices.size();
  return {std::move(tree), node_};
}

device_array device_array::dictionary() const
{
  auto const values = node_of(tree_, node_).dictionary;
  return values == array_node::no_dictionary ? device_array{} : device_array{tree_, values};
}

std::vector<buffer_info> device_array::buffers() const
{
  auto const& node = node_of(tree_, node_);
  auto const rows  = node.offset + node.length;
  auto result      = std::vector<buffer_info>{};
  auto const add   = [&](std::string_view name, std::int64_t size) {
    auto const i        = result.size();
    auto const* address = node.first_buffer()[i];
    // All data buffers of views have the properties of the first one.
    auto const copied = node.copied[std::min(i, node.copied.size() - 1)];
    auto const reason = copied.empty() ? reason_of(address, tree_->copied.get()) : copied;
    result.push_back({name, address, address == nullptr ? 0 : size, reason});
  };
  for (auto const& part : node.row_buffers()) { add(part.name, part.size(rows)); }
  auto const sizes = node.data_sizes(tree_->location.device_type == ARROW_DEVICE_CPU);
  if (!sizes.empty()) {
    auto const lock = std::lock_guard{tree_->sizes_mutex};
    if (!tree_->sizes) {
      wait();
      tree_->sizes = read_sizes(*tree_);
    }
    for (auto const& [buffer, place] : sizes) {
      auto const found = tree_->sizes->find(place.address);
      add("data", found == tree_->sizes->end() ? 0 : found->second);
    }
  }
  if (node.layout == array_layout::views) {
    auto const size = std::ssize(sizes) * std::int64_t{sizeof(std::int64_t)};
    result.push_back({"sizes", node.view_buffers[node.num_view_buffers - 1], size, node.copied[1]});
  }
  return result;
}

}  // namespace cudf_arrow_bridge
