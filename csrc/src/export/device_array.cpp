// SPDX-License-Identifier: Apache-2.0
#include "arrays/array_tree.hpp"
#include "base/nvtx.hpp"
#include "compute/buffers.hpp"
#include "cuda/location/location.hpp"
#include "cuda/ordering/events.hpp"
#include "cuda/transfer/read_back.hpp"

#include <cudf_arrow_bridge/export.hpp>
#include <cudf_arrow_bridge/memory.hpp>

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
using detail::bytes_for_bits;
using detail::offset_width;

array_node const& node_of(std::shared_ptr<detail::array_tree const> const& tree, std::size_t node)
{
  if (tree == nullptr) { throw std::invalid_argument{"the array is released"}; }
  return tree->nodes[node];
}

/// Calls a function with the address and the width of each size of data that an array stores: the
/// last offset of strings, and the sizes of the data buffers of views.
template <typename Function>
void visit_sizes(array_node const& node, Function const& function)
{
  if (node.layout == array_layout::string32 || node.layout == array_layout::string64) {
    auto const width    = offset_width(node.layout);
    auto const* offsets = static_cast<std::byte const*>(node.buffers[1]);
    function(offsets + (node.offset + node.length) * width, width);
  } else if (node.layout == array_layout::views) {
    auto const last   = std::size_t{node.num_view_buffers} - 1;
    auto const* sizes = static_cast<std::int64_t const*>(node.view_buffers[last]);
    for (auto i = std::size_t{2}; i < last; ++i) { function(sizes++, sizeof(std::int64_t)); }
  }
}

/// Reads the sizes of all nodes of a tree in device memory with one synchronization. @return The
/// sizes by their addresses
std::unordered_map<void const*, std::int64_t> read_sizes(detail::array_tree const& tree)
{
  auto const guard = detail::guard_device(tree.location);
  auto reads       = detail::device::read_back{tree.stream_here()};
  auto addresses   = std::vector<void const*>{};
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    visit_sizes(tree.nodes[i], [&](void const* size, std::int64_t width) {
      // A producer may omit the one offset of an array without rows.
      if (size == nullptr) { return; }
      reads.add(size, width);
      addresses.push_back(size);
    });
  }
  reads.enqueue();
  reads.wait();
  auto result = std::unordered_map<void const*, std::int64_t>{};
  for (std::size_t i = 0; i < addresses.size(); ++i) { result[addresses[i]] = reads.at(i); }
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

device_array::device_array(std::shared_ptr<detail::array_tree const> tree,
                           std::size_t node) noexcept
  : tree_{std::move(tree)}, node_{node}
{
}

unique_device_array device_array::to_arrow() const
{
  detail::nvtx_range const range{__func__};
  node_of(tree_, node_);
  return detail::array_tree::to_arrow(tree_, node_);
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
  return detail::array_tree::handle(std::move(copy));
}

device_array device_array::copy(std::shared_ptr<void const> owner,
                                cuda::stream_ref stream,
                                rmm::device_async_resource_ref mr) const
{
  detail::nvtx_range const range{__func__};
  auto const place = location();
  auto const host  = place.device_type == ARROW_DEVICE_CPU;
  auto const to    = host ? detail::resource_of_host(mr) : detail::resource_on_device(place, mr);
  auto const guard = detail::guard_device(place);
  make_wait(stream);
  return detail::array_tree::handle(
    detail::copy_on_same_device(tree_, node_, std::move(owner), {host, stream, to}));
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
  return {detail::slice_tree(tree_, node_, offset, length, is_table), node_};
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
  return {detail::select_children(tree_, node_, indices), node_};
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
  auto const width = offset_width(node.layout);
  auto result      = std::vector<buffer_info>{};
  auto const add   = [&](std::string_view name, std::int64_t size) {
    auto const i        = result.size();
    auto const* address = node.first_buffer()[i];
    // All data buffers of views have the properties of the first one.
    auto const copied = node.copied[std::min(i, node.copied.size() - 1)];
    auto const reason = copied.empty() ? reason_of(address, tree_->copied.get()) : copied;
    result.push_back({name, address, address == nullptr ? 0 : size, reason});
  };
  auto const add_data = [&](void const* size, std::int64_t bytes) {
    if (location().device_type == ARROW_DEVICE_CPU) {
      add("data", detail::read_offset(size, 0, bytes, true, tree_->stream));
      return;
    }
    auto const lock = std::lock_guard{tree_->sizes_mutex};
    if (!tree_->sizes) {
      wait();
      tree_->sizes = read_sizes(*tree_);
    }
    auto const found = tree_->sizes->find(size);
    add("data", found == tree_->sizes->end() ? 0 : found->second);
  };
  if (node.num_buffers() == 0) { return result; }
  add("validity", bytes_for_bits(rows));
  switch (node.layout) {
    case array_layout::fixed: add("data", bytes_for_bits(rows * node.per_row)); break;
    case array_layout::offsets32:
    case array_layout::offsets64: add("offsets", (rows + 1) * width); break;
    case array_layout::string32:
    case array_layout::string64:
      add("offsets", (rows + 1) * width);
      visit_sizes(node, add_data);
      break;
    case array_layout::list_views32:
    case array_layout::list_views64:
      add("offsets", rows * width);
      add("sizes", rows * width);
      break;
    case array_layout::views: {
      add("views", rows * 16);
      visit_sizes(node, add_data);
      auto const last = std::size_t{node.num_view_buffers} - 1;
      auto const size = static_cast<std::int64_t>((last - 2) * sizeof(std::int64_t));
      result.push_back({"sizes", node.view_buffers[last], size, node.copied[1]});
      break;
    }
    default: break;
  }
  return result;
}

}  // namespace cudf_arrow_bridge
