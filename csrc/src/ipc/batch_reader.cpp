// SPDX-License-Identifier: Apache-2.0
#include "ipc/batch_reader.hpp"

#include "base/parsed_type.hpp"
#include "compute/buffers.hpp"
#include "cuda/location/location.hpp"

#include <rmm/mr/per_device_resource.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace cudf_arrow_bridge::detail {
namespace {

/// Used if a batch without rows omits its one offset.
constexpr std::int64_t zero_offset = 0;

/// Reads one batch; see `read_batch`.
class batch_reader {
 public:
  batch_reader(ipc_batch const& batch,
               known_dictionaries const& dictionaries,
               ipc_memory const& memory,
               bool keeps_masks,
               cuda::stream_ref stream)
    : batch_{batch},
      dictionaries_{dictionaries},
      keeps_masks_{keeps_masks},
      stream_{stream},
      kept_{std::make_shared<kept_memory>()},
      tree_{std::make_shared<array_tree>()}
  {
    kept_->buffers           = memory.owner;
    tree_->location          = memory.location;
    tree_->is_message        = true;
    tree_->owner             = kept_;
    tree_->is_freed_in_order = memory.owner_frees_on_stream;
  }

  std::shared_ptr<array_tree> read(parsed_tree const& types, bool is_table, column_path const& path)
  {
    if (batch_.length < 0) {
      fail_invalid(path, "the length of the batch is negative: " + std::to_string(batch_.length));
    }
    auto const root = tree_->add_nodes(1);
    if (is_table) {
      auto& node = tree_->nodes[root] = {};
      node.layout                     = array_layout::validity;
      node.length                     = batch_.length;
      read_children(root, types, path);
      for (std::size_t i = 0; i < types.children.size(); ++i) {
        auto const* name = name_of_child(*types.schema, static_cast<std::int64_t>(i));
        check_length(tree_->nodes[root].first_child + i, column_path{path, name});
      }
    } else {
      read_node(root, types, path);
      check_length(root, path);
    }
    auto const check_used = [&](std::size_t used, std::size_t found, char const* what) {
      if (used != found) {
        fail_invalid(path,
                     "expected " + std::to_string(used) + " " + what + " by the schema, got " +
                       std::to_string(found));
      }
    };
    check_used(next_node_, batch_.nodes.size(), "nodes");
    check_used(next_buffer_, batch_.buffers.size(), "buffers");
    check_used(next_count_, batch_.variadic_counts.size(), "variadic buffer counts");
    return tree_;
  }

 private:
  /// The objects that the tree keeps alive.
  struct kept_memory {
    std::shared_ptr<void const> buffers;
    std::vector<device_array> dictionaries;
    std::vector<std::unique_ptr<std::int64_t[]>> sizes;  ///< of the data of views
  };

  /// Checks that a node has the number of rows of the batch.
  void check_length(std::size_t index, column_path const& path) const
  {
    auto const found = tree_->nodes[index].length;
    if (found != batch_.length) {
      fail_invalid(path,
                   "expected " + std::to_string(batch_.length) + " rows, as the batch has, got " +
                     std::to_string(found));
    }
  }

  void read_node(std::size_t index, parsed_tree const& types, column_path const& path)
  {
    if (next_node_ == batch_.nodes.size()) {
      fail_invalid(
        path, "the batch has fewer nodes than the schema needs: " + std::to_string(next_node_));
    }
    auto const& found = batch_.nodes[next_node_++];
    auto& node = tree_->nodes[index] = {};
    node.layout                      = types.type.layout;
    node.length                      = found.length;
    node.null_count                  = found.null_count;
    if (node.layout == array_layout::fixed) { node.per_row = types.type.element_bits; }
    if (node.layout == array_layout::fixed_lists) { node.per_row = types.type.list_size; }
    if (node.length < 0) {
      fail_invalid(path, "the length is negative: " + std::to_string(node.length));
    }
    if (node.null_count < 0 || node.null_count > node.length) {
      fail_invalid(path,
                   "expected a null count of 0 to " + std::to_string(node.length) + ", got " +
                     std::to_string(node.null_count));
    }
    if (num_buffers(node.layout) == 0) {
      // Senders may state any count for arrays without a mask.
      node.null_count = node.layout == array_layout::null ? node.length : 0;
    }
    read_buffers(node, path);
    if (types.schema->dictionary != nullptr) {
      read_dictionary(node, path);
    } else {
      read_children(index, types, path);
    }
  }

  void read_children(std::size_t index, parsed_tree const& types, column_path const& path)
  {
    auto& node        = tree_->nodes[index];
    node.num_children = types.children.size();
    node.first_child  = tree_->add_nodes(node.num_children);
    for (std::size_t i = 0; i < node.num_children; ++i) {
      auto const* name = name_of_child(*types.schema, static_cast<std::int64_t>(i));
      read_node(node.first_child + i, types.children[i], column_path{path, name});
    }
    check_child(node, types.type, path);
    if (has_child_by_offsets(node.layout)) {
      node.set_extent(tree_->nodes[node.first_child].length);
    }
  }

  void check_child(array_node const& node, parsed_type const& type, column_path const& path) const
  {
    auto const check = [&](std::size_t i, std::int64_t rows) {
      auto const found = tree_->nodes[node.first_child + i].length;
      if (found < rows) {
        fail_invalid(path,
                     "expected at least " + std::to_string(rows) + " rows of a child, got " +
                       std::to_string(found));
      }
    };
    switch (node.layout) {
      case array_layout::validity:
        for (std::size_t i = 0; i < node.num_children; ++i) { check(i, node.length); }
        break;
      case array_layout::fixed_lists: {
        constexpr auto most = std::numeric_limits<std::int64_t>::max();
        auto const size     = type.list_size;
        check(0, size > 0 && node.length > most / size ? most : node.length * size);
        break;
      }
      case array_layout::runs: {
        auto const runs = tree_->nodes[node.first_child].length;
        check(1, runs);
        if (runs == 0 && node.length > 0) { fail_invalid(path, "there is no run"); }
        break;
      }
      default: break;
    }
  }

  void read_buffers(array_node& node, column_path const& path)
  {
    auto const is_views = node.layout == array_layout::views;
    auto const num_data = is_views ? take_variadic_count(path) : 0;
    if (is_views) { tree_->add_view_buffers(node, num_data + 3); }
    auto slot = std::size_t{0};
    for (auto const& part : node.row_buffers()) {
      auto& buffer = node.buffer(slot);
      if (slot == 0) {
        buffer = take_validity(node, part, path);
      } else if (has_offsets(node.layout)) {
        buffer = take_offsets(node, part, path);
      } else {
        buffer = take(part.name, part.size(node.length), path).address;
      }
      ++slot;
    }
    if (node.layout == array_layout::string32 || node.layout == array_layout::string64) {
      auto const data = take("data", 0, path);
      node.buffers[2] = data.address;
      node.set_extent(data.size);
    } else if (is_views) {
      auto& sizes = kept_->sizes.emplace_back(std::make_unique<std::int64_t[]>(num_data));
      for (std::size_t i = 0; i < num_data; ++i) {
        auto const data          = take("data", 0, path);
        node.view_buffers[2 + i] = data.address;
        sizes[i]                 = data.size;
      }
      node.view_buffers[num_data + 2] = sizes.get();
    }
  }

  /// Takes a mask. Without nulls it may be omitted, and is only used to check that there are none.
  void const* take_validity(array_node const& node, row_buffer const& part, column_path const& path)
  {
    auto const size = part.size(node.length);
    auto const mask = take(part.name, node.null_count == 0 ? 0 : size, path);
    return node.null_count > 0 || (keeps_masks_ && mask.size >= size) ? mask.address : nullptr;
  }

  void const* take_offsets(array_node const& node, row_buffer const& part, column_path const& path)
  {
    auto const width = part.bits / 8;
    // An array without rows may omit its one offset.
    auto const is_left_out = node.length == 0 && next_buffer_ < batch_.buffers.size() &&
                             batch_.buffers[next_buffer_].size < width;
    if (!is_left_out) { return take(part.name, part.size(node.length), path).address; }
    ++next_buffer_;
    if (tree_->location.device_type == ARROW_DEVICE_CPU) { return &zero_offset; }
    auto const guard = guard_device(tree_->location);
    auto const exec  = execution{false, stream_, rmm::mr::get_current_device_resource_ref()};
    return tree_->conversions.emplace_back(zeros(width, exec)).data();
  }

  /// Takes the number of data buffers of an array of views.
  std::size_t take_variadic_count(column_path const& path)
  {
    auto const left = static_cast<std::int64_t>(batch_.buffers.size()) -
                      static_cast<std::int64_t>(next_buffer_) - 2;
    if (next_count_ == batch_.variadic_counts.size()) {
      fail_invalid(path,
                   "the batch has fewer variadic buffer counts than the schema needs: " +
                     std::to_string(next_count_));
    }
    auto const count = batch_.variadic_counts[next_count_++];
    if (count < 0 || count > left) {
      fail_invalid(path,
                   "expected 0 to " + std::to_string(std::max(left, std::int64_t{0})) +
                     " data buffers of views, got " + std::to_string(count));
    }
    return static_cast<std::size_t>(count);
  }

  void read_dictionary(array_node& node, column_path const& path)
  {
    auto const index   = dictionaries_.next;
    dictionaries_.next = dictionaries_.types[index].end;
    if (index >= dictionaries_.values.size() || dictionaries_.values[index].is_released()) {
      fail_invalid(path, "the message with the values of the dictionary is missing");
    }
    auto const& values    = dictionaries_.values[index];
    auto const [tree, at] = array_tree::place_of(values);
    if (tree->location != tree_->location) {
      fail_invalid(path,
                   "the dictionary is in " + to_string(tree->location) +
                     ", and its indices are in " + to_string(tree_->location));
    }
    // The array's event has to be ordered after the dictionaries, also if another stream created
    // them.
    values.make_wait(stream_);
    node.dictionary = tree_->add_nodes(1);
    graft(node.dictionary, *tree, tree->nodes[at]);
    kept_->dictionaries.push_back(values);
    // Dictionaries may belong to other messages, on other streams.
    tree_->is_freed_in_order = false;
  }

  /// Adds nodes that share the values of a dictionary.
  void graft(std::size_t index, array_tree const& source, array_node const& from)
  {
    auto& node = tree_->nodes[index] = from;
    node.first_child                 = tree_->add_nodes(node.num_children);
    for (std::size_t i = 0; i < node.num_children; ++i) {
      graft(node.first_child + i, source, source.nodes[from.first_child + i]);
    }
    if (from.dictionary != array_node::no_dictionary) {
      node.dictionary = tree_->add_nodes(1);
      graft(node.dictionary, source, source.nodes[from.dictionary]);
    }
  }

  /// Takes the next buffer, which must have `required` bytes. @return Null if it has none
  ipc_buffer take(std::string_view name, std::int64_t required, column_path const& path)
  {
    if (next_buffer_ == batch_.buffers.size()) {
      fail_invalid(path,
                   "the " + std::string{name} + " buffer, which the schema requires, is missing");
    }
    auto const& buffer = batch_.buffers[next_buffer_++];
    if (buffer.size < required || buffer.size < 0) {
      fail_invalid(path,
                   "expected a " + std::string{name} + " buffer of " + std::to_string(required) +
                     " bytes, got " + std::to_string(buffer.size));
    }
    return buffer.size == 0 ? ipc_buffer{nullptr, 0} : buffer;
  }

  ipc_batch batch_;
  known_dictionaries dictionaries_;
  bool keeps_masks_;
  cuda::stream_ref stream_;
  std::shared_ptr<kept_memory> kept_;
  std::shared_ptr<array_tree> tree_;
  std::size_t next_node_{0};
  std::size_t next_buffer_{0};
  std::size_t next_count_{0};
};

}  // namespace

std::shared_ptr<array_tree> read_batch(ipc_batch const& batch,
                                       known_dictionaries const& dictionaries,
                                       ipc_memory const& memory,
                                       parsed_tree const& types,
                                       bool is_table,
                                       bool keeps_masks,
                                       column_path const& path,
                                       cuda::stream_ref stream)
{
  return batch_reader{batch, dictionaries, memory, keeps_masks, stream}.read(types, is_table, path);
}

}  // namespace cudf_arrow_bridge::detail
