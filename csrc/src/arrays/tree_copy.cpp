// SPDX-License-Identifier: Apache-2.0
#include "arrays/array_tree.hpp"
#include "arrays/foreign_array.hpp"
#include "base/copy_log.hpp"
#include "compute/buffers.hpp"
#include "cuda/location/location.hpp"
#include "cuda/ordering/captures.hpp"
#include "validate/validate.hpp"

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {
namespace {

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
    auto rows = from;
    rows.slice(begin, size);
    rows.offset = rows_kept_before(from, rows.offset, size, is_field);

    auto const first = from.offset + begin - rows.offset;
    auto const count = size + rows.offset;
    auto& node = target_.nodes[to] = rows;
    node.copied.fill(copy_reason::asked);
    node.buffers     = {};
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
    rows.offset = first;
    rows.length = count;
    copy_buffers(to, rows);
  }

  /// Copies the buffers whose size is stored in memory, after it has been read.
  void finish()
  {
    // The stream of this device cannot read all memory of another device, so its sizes are copied.
    auto const size_of_near = is_far_ ? sized_.size() * sizeof(std::int64_t) : 0;
    auto near               = rmm::device_buffer{size_of_near, exec_.stream, exec_.scratch().mr};
    auto* next              = static_cast<std::byte*>(near.data());
    auto places             = std::vector<stored_integer>{};
    for (auto const& buffer : sized_) {
      auto& place = places.emplace_back(buffer.size.place);
      if (is_far_ && !place.is_on_host) {
        copy(next, place.address, static_cast<std::size_t>(place.width));
        place.address = std::exchange(next, next + sizeof(std::int64_t));
      }
    }
    auto const sizes = read_integers(places, from_host_, exec_.stream);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      auto const& [node, source, size] = sized_[i];
      check_string_data(sizes[i], source, column_path{});
      copy_buffer(node, size.buffer, source, 0, sizes[i]);
    }
    if (!from_host_ && to_host_) {
      auto const relaxed = relaxed_captures{};
      RMM_CUDA_TRY(cudaStreamSynchronize(exec_.stream.get()));
    }
  }

 private:
  /// A data buffer whose size is stored in memory.
  struct sized_buffer {
    std::size_t node;
    std::byte const* source;
    data_size size;
  };

  /// Copies the buffers whose size is known.
  /// @param rows Node of the source, reduced to the rows to copy
  void copy_buffers(std::size_t to, array_node const& rows)
  {
    auto& node       = target_.nodes[to];
    auto const count = rows.length;
    auto const at    = [&](std::size_t slot) {
      return static_cast<std::byte const*>(rows.first_buffer()[slot]);
    };
    if (node.layout == array_layout::views) {
      // Arrays without rows need no data.
      auto const least = static_cast<std::uint32_t>(num_buffers(node.layout));
      target_.add_view_buffers(node, count == 0 ? least : rows.num_view_buffers);
    }
    if (count == 0) {
      // A producer may omit the one offset of an array without rows.
      if (has_offsets(node.layout)) {
        auto const width = offset_width(node.layout);
        node.buffers[1]  = target_.conversions.emplace_back(zeros(width, exec_)).data();
      }
      return;
    }
    auto slot = std::size_t{0};
    for (auto const& part : rows.row_buffers()) {
      copy_buffer(to, slot, at(slot), rows.offset * part.bits / 8, part.size(count));
      ++slot;
    }
    auto const sizes = rows.data_sizes(from_host_);
    for (auto const& size : sizes) { sized_.push_back({to, at(size.buffer), size}); }
    if (node.layout == array_layout::views) {
      auto const last = std::size_t{node.num_view_buffers} - 1;
      copy_buffer(to, last, at(last), 0, std::ssize(sizes) * 8);
    }
  }

  /// Enqueues a copy from the device of the source.
  void copy(void* target, void const* source, std::size_t size)
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

  /// Copies bytes of a buffer, if it is present and they are not empty.
  void copy_buffer(std::size_t node,
                   std::size_t slot,
                   std::byte const* source,
                   std::int64_t begin,
                   std::int64_t bytes)
  {
    if (source == nullptr || bytes == 0) { return; }
    auto const size = static_cast<std::size_t>(bytes);
    // libcudf copies masks in whole blocks.
    auto& buffer = target_.conversions.emplace_back(
      slot == 0 ? zeros(padded_mask_size(bytes * 8), exec_)
                : rmm::device_buffer{size, exec_.stream, exec_.mr});
    target_.nodes[node].buffer(slot) = buffer.data();
    if (from_host_) {
      std::memcpy(buffer.data(), source + begin, size);
    } else {
      copy(buffer.data(), source + begin, size);
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
  auto const exec  = execution{target, stream, mr};
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
  auto const target = exec.host ? memory_location{} : current_location();
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
