// SPDX-License-Identifier: Apache-2.0
#include "arrays/array_tree.hpp"
#include "arrays/foreign_array.hpp"
#include "compute/buffers.hpp"
#include "cuda/location/location.hpp"
#include "cuda/ordering/captures.hpp"
#include "cuda/transfer/read_back.hpp"
#include "validate/validate.hpp"

#include <rmm/cuda_device.hpp>
#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {
namespace {

constexpr std::int64_t view_bytes = 16;

/// The number of rows before a slice that are copied with it, so that masks begin with a byte.
std::int64_t rows_kept_before(array_node const& node,
                              std::int64_t start,
                              std::int64_t size,
                              bool is_field)
{
  // An array without rows need not have buffers.
  if (start == 0 || size == 0) { return 0; }
  // Runs are copied as a whole.
  if (node.layout == array_layout::runs) { return start; }
  // As in `rows_before`: libcudf needs a row before the slice, except before the first row of a
  // field. Fields with an offset are columns of a record batch.
  return is_field && node.offset == 0 ? start % 8 : (start - 1) % 32 + 1;
}

/// Copies the nodes of a tree and their buffers, last those whose size has to be read.
class tree_copier {
 public:
  tree_copier(array_tree const& source, array_tree& target, execution const& exec)
    : source_{source},
      target_{target},
      exec_{exec},
      from_host_{source.location.device_type == ARROW_DEVICE_CPU},
      to_host_{target.location.device_type == ARROW_DEVICE_CPU},
      is_far_{source.location.device_type == ARROW_DEVICE_CUDA && !to_host_ &&
              source.location != target.location}
  {
  }

  /// Rows `[begin, begin + size)` of a node, not including its offset.
  void add(
    std::size_t to, array_node const& from, std::int64_t begin, std::int64_t size, bool is_field)
  {
    auto const start = from.offset + begin;
    auto& node = target_.nodes[to] = from;
    if (from.layout == array_layout::views) {
      // Arrays without rows need no data.
      auto const least = static_cast<std::uint32_t>(num_buffers(from.layout));
      auto const count = size == 0 ? least : from.num_view_buffers;
      target_.add_view_buffers(node, count);
      std::copy_n(from.view_buffers, count, node.view_buffers);
    }
    node.offset = rows_kept_before(from, start, size, is_field);
    node.length = size;
    node.copied.fill(copy_reason::asked);
    if (size != from.length && node.null_count > 0) {
      node.null_count = size == 0 || node.layout == array_layout::null ? size : -1;
    }
    if (has_offsets(node.layout) && size != from.length) { node.per_row = 0; }
    auto const first = start - node.offset;
    auto const count = size + node.offset;

    node.first_child = target_.add_nodes(node.num_children);
    for (std::size_t i = 0; i < node.num_children; ++i) {
      auto const& child = source_.nodes[from.first_child + i];
      switch (node.layout) {
        case array_layout::offsets32:
        case array_layout::offsets64:
        case array_layout::list_views32:
        case array_layout::list_views64:
        case array_layout::runs: add(node.first_child + i, child, 0, child.length, false); break;
        case array_layout::fixed_lists:
          add(node.first_child + i, child, first * node.per_row, count * node.per_row, false);
          break;
        default: add(node.first_child + i, child, first, count, true);
      }
    }
    if (from.dictionary != array_node::no_dictionary) {
      auto const& values = source_.nodes[from.dictionary];
      node.dictionary    = target_.add_nodes(1);
      add(node.dictionary, values, 0, values.length, false);
    }
    copy_buffers(to, first, count);
  }

  /// Copies the buffers whose size is stored in memory, after it has been read.
  void finish()
  {
    copy_sized();
    if (!from_host_ && to_host_) {
      auto const relaxed = relaxed_captures{};
      RMM_CUDA_TRY(cudaStreamSynchronize(exec_.stream.get()));
    }
  }

 private:
  /// A buffer whose size is stored in memory: in the last offset of strings, or in the sizes of
  /// views.
  struct sized_buffer {
    std::size_t node;
    std::size_t slot;
    std::byte const* size;
    std::int64_t width;  ///< width of the size in bytes
    bool is_on_host;     ///< where the size is
  };

  /// Copies the buffers whose size is known.
  void copy_buffers(std::size_t to, std::int64_t first, std::int64_t count)
  {
    auto& node          = target_.nodes[to];
    auto const add_copy = [&](std::size_t slot, std::int64_t skip, std::int64_t size) {
      auto const* source = static_cast<std::byte const*>(std::exchange(node.buffer(slot), nullptr));
      if (source != nullptr && size > 0) { copy_buffer(to, slot, source + skip, size); }
    };
    auto const add_offsets = [&](std::int64_t width) {
      if (count > 0) {
        add_copy(1, first * width, (count + 1) * width);
      } else {
        // A producer may omit the one offset of an array without rows.
        node.buffers[1] = target_.conversions.emplace_back(zeros(width, exec_)).data();
      }
    };
    auto const add_string = [&](std::int64_t width) {
      auto const* offsets = static_cast<std::byte const*>(node.buffers[1]);
      if (count > 0) {
        sized_.push_back({to, 2, offsets + (first + count) * width, width, from_host_});
      } else {
        node.buffers[2] = nullptr;
      }
      add_offsets(width);
    };
    auto const add_views = [&] {
      auto const last   = std::size_t{node.num_view_buffers} - 1;
      auto const* sizes = static_cast<std::byte const*>(node.view_buffers[last]);
      // They may be in host memory also for arrays on a device.
      auto const is_on_host =
        from_host_ || (last > 2 && locate(sizes).device_type == ARROW_DEVICE_CPU);
      for (std::size_t slot = 2; slot < last; ++slot) {
        sized_.push_back({to, slot, sizes + (slot - 2) * sizeof(std::int64_t), 8, is_on_host});
      }
      add_copy(1, first * view_bytes, count * view_bytes);
      add_copy(last, 0, static_cast<std::int64_t>((last - 2) * sizeof(std::int64_t)));
    };
    if (num_buffers(node.layout) > 0) { add_copy(0, first / 8, bytes_for_bits(count)); }
    switch (node.layout) {
      case array_layout::fixed:
        add_copy(1, first / 8 * node.per_row, bytes_for_bits(count * node.per_row));
        break;
      case array_layout::offsets32:
      case array_layout::offsets64: add_offsets(offset_width(node.layout)); break;
      case array_layout::string32:
      case array_layout::string64: add_string(offset_width(node.layout)); break;
      case array_layout::list_views32:
      case array_layout::list_views64: {
        auto const width = offset_width(node.layout);
        add_copy(1, first * width, count * width);
        add_copy(2, first * width, count * width);
        break;
      }
      case array_layout::views: add_views(); break;
      default: break;
    }
  }

  void copy_sized()
  {
    // The stream of this device cannot read all memory of another device, so its sizes are copied.
    auto const size_of_near = is_far_ ? sized_.size() * sizeof(std::int64_t) : 0;
    auto near               = rmm::device_buffer{size_of_near, exec_.stream, exec_.scratch().mr};
    auto* next              = static_cast<std::byte*>(near.data());
    auto reads              = device::read_back{exec_.stream};
    for (auto const& buffer : sized_) {
      if (buffer.is_on_host) { continue; }
      auto const* size = buffer.size;
      if (is_far_) {
        copy(next, size, static_cast<std::size_t>(buffer.width));
        size = std::exchange(next, next + sizeof(std::int64_t));
      }
      reads.add(size, buffer.width);
    }
    if (!reads.is_empty()) {
      reads.enqueue();
      reads.wait();
    }
    auto num_read = std::size_t{0};
    for (auto const& buffer : sized_) {
      auto const size    = buffer.is_on_host
                             ? read_offset(buffer.size, 0, buffer.width, true, exec_.stream)
                             : reads.at(num_read++);
      auto& pointer      = target_.nodes[buffer.node].buffer(buffer.slot);
      auto const* source = static_cast<std::byte const*>(std::exchange(pointer, nullptr));
      check_string_data(size, source, column_path{});
      if (size > 0) { copy_buffer(buffer.node, buffer.slot, source, size); }
    }
  }

  /// Enqueues a copy from the device of the source.
  void copy(void* target, std::byte const* source, std::size_t size)
  {
    auto const stream = exec_.stream.get();
    auto const from   = is_far_ ? locate(source) : memory_location{};
    if (from.device_type != ARROW_DEVICE_CUDA) {
      RMM_CUDA_TRY(cudaMemcpyAsync(target, source, size, cudaMemcpyDefault, stream));
      return;
    }
    // Also for memory of a pool, to which other devices have no access.
    RMM_CUDA_TRY(cudaMemcpyPeerAsync(target,
                                     static_cast<int>(target_.location.device_id),
                                     source,
                                     static_cast<int>(from.device_id),
                                     size,
                                     stream));
  }

  void copy_buffer(std::size_t node, std::size_t slot, std::byte const* source, std::int64_t bytes)
  {
    auto const size = static_cast<std::size_t>(bytes);
    // libcudf copies masks in whole blocks.
    auto& buffer = target_.conversions.emplace_back(
      slot == 0 ? zeros(padded_mask_size(bytes * 8), exec_)
                : rmm::device_buffer{size, exec_.stream, exec_.mr});
    target_.nodes[node].buffer(slot) = buffer.data();
    if (from_host_) {
      std::memcpy(buffer.data(), source, size);
    } else {
      copy(buffer.data(), source, size);
    }
  }

  array_tree const& source_;
  array_tree& target_;
  execution const& exec_;
  bool from_host_;
  bool to_host_;
  bool is_far_;  ///< whether the source is in memory of another device than the target
  std::vector<sized_buffer> sized_;
};

}  // namespace

std::shared_ptr<array_tree> copy_tree(array_tree const& source,
                                      std::size_t node,
                                      memory_location const& target,
                                      cuda::stream_ref stream,
                                      rmm::device_async_resource_ref mr)
{
  auto tree        = std::make_shared<array_tree>();
  tree->location   = target;
  auto const host  = target.device_type == ARROW_DEVICE_CPU;
  auto const exec  = execution{host, stream, host ? resource_of_host(mr) : mr};
  auto copier      = tree_copier{source, *tree, exec};
  auto const& root = source.nodes[node];
  try {
    copier.add(tree->add_nodes(1), root, 0, root.length, false);
    copier.finish();
  } catch (...) {
    // Copies before the failed one may still write to host memory that is about to be freed.
    auto const relaxed = relaxed_captures{};
    (void)cudaStreamSynchronize(stream.get());
    throw;
  }
  return tree;
}

std::shared_ptr<array_tree> copy_on_same_device(std::shared_ptr<array_tree const> const& source,
                                                std::size_t node,
                                                std::shared_ptr<void const> owner,
                                                execution const& exec)
{
  auto target = memory_location{};
  if (!exec.host) { target = {ARROW_DEVICE_CUDA, rmm::get_current_cuda_device().value()}; }
  // Copies may still be reading the source when this returns.
  auto structs     = array_tree::to_arrow(source, node);
  auto const share = foreign_array::own(structs.get(), exec.host, exec.stream);
  auto copy        = copy_tree(*source, node, target, exec.stream, exec.mr);
  copy->count_unknown_nulls(exec);
  copy->owner = std::move(owner);
  if (exec.host) { return copy; }
  for (auto const& buffer : copy->conversions) {
    if (buffer.size() > 0) { copy->location = locate(buffer.data()); }
  }
  copy->record_ready(exec.stream);
  copy->is_freed_in_order = true;
  return copy;
}

}  // namespace cudf_arrow_bridge::detail
