// SPDX-License-Identifier: Apache-2.0
#include "arrays/array_tree.hpp"
#include "base/parsed_type.hpp"
#include "compute/buffers.hpp"
#include "compute/host_access.hpp"
#include "cuda/transfer/read_back.hpp"
#include "ipc/batch_reader.hpp"
#include "validate/validate.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <cstddef>
#include <string>

namespace cudf_arrow_bridge::detail {
namespace {

/// Checks the first and last offset, and the last run end, of all columns; on device memory in two
/// passes, with one synchronization between them.
class ends_checker {
 public:
  ends_checker(array_tree const& tree, cuda::stream_ref stream)
    : tree_{tree}, host_{tree.location.device_type == ARROW_DEVICE_CPU}, batch_{stream}
  {
  }

  void check(parsed_tree const& types, column_path const& path)
  {
    if (!host_) {
      visit(tree_.nodes[0], types, path);
      if (batch_.is_empty()) { return; }
      batch_.enqueue();
      batch_.wait();
      is_read_ = true;
    }
    visit(tree_.nodes[0], types, path);
  }

 private:
  /// Adds the offsets and run ends of a level and its descendants to the batch, or checks them.
  void visit(array_node const& node, parsed_tree const& types, column_path const& path)
  {
    auto const is_checked = host_ || is_read_;
    if (node.layout == array_layout::runs && node.length > 0) {
      auto const& ends = tree_.nodes[node.first_child];
      auto const last =
        value(ends.buffers[1], ends.length - 1, types.children.front().type.element_bits / 8);
      if (is_checked) { check_runs(node, last, path); }
    }
    if (has_offsets(node.layout) && node.length > 0) {
      auto const width = offset_width(node.layout);
      auto const ends =
        offset_ends{value(node.buffers[1], 0, width), value(node.buffers[1], node.length, width)};
      if (is_checked) { check_ends(node, ends, path); }
    }
    for (std::size_t i = 0; i < node.num_children; ++i) {
      auto const* name = name_of_child(*types.schema, static_cast<std::int64_t>(i));
      visit(tree_.nodes[node.first_child + i], types.children[i], column_path{path, name});
    }
  }

  /// Reads an offset or run end in host memory. Adds one in device memory to the batch, or returns
  /// it after the batch has been read.
  std::int64_t value(void const* values, std::int64_t index, std::int64_t width)
  {
    auto const* address = static_cast<std::byte const*>(values) + index * width;
    if (host_) { return host::read_integer(address, width); }
    if (is_read_) { return batch_.at(next_++); }
    batch_.add(address, width);
    return 0;
  }

  static void check_runs(array_node const& node, std::int64_t last, column_path const& path)
  {
    if (last < node.length) {
      fail_invalid(path,
                   "expected a last run end of at least " + std::to_string(node.length) + ", got " +
                     std::to_string(last));
    }
  }

  static void check_ends(array_node const& node, offset_ends ends, column_path const& path)
  {
    check_offset_ends(ends.first, ends.last, path);
    if (ends.last > node.extent()) {
      auto const* what =
        has_child_by_offsets(node.layout) ? " rows of the child" : " bytes of data";
      fail_invalid(path,
                   "expected a last offset of at most " + std::to_string(node.extent()) + what +
                     ", got " + std::to_string(ends.last));
    }
  }

  array_tree const& tree_;
  bool host_;
  device::read_back batch_;
  bool is_read_{false};  ///< whether the batch has been read
  std::size_t next_{0};
};

/// A batch whose dictionaries have nulls as values, and their number.
std::shared_ptr<array_tree const> without_values(std::shared_ptr<array_tree const> const& source)
{
  auto tree = array_tree::derive(source);
  for (std::size_t i = 0; i < tree->nodes.size(); ++i) {
    if (tree->nodes[i].dictionary == array_node::no_dictionary) { continue; }
    auto& values      = tree->nodes[tree->nodes[i].dictionary];
    auto const length = values.length;
    values            = {};
    values.length = values.null_count = length;
  }
  return tree;
}

}  // namespace

void check_contents(std::shared_ptr<array_tree const> const& tree,
                    parsed_tree const& types,
                    body_checks checks,
                    column_path const& path,
                    cuda::stream_ref stream)
{
  if (checks == body_checks::sizes) { return; }
  ends_checker{*tree, stream}.check(types, path);
  if (checks == body_checks::ends) { return; }
  auto array = array_tree::to_arrow(tree, 0);
  validate(types, array->array, path);
  if (tree->location.device_type != ARROW_DEVICE_CPU) {
    auto const host =
      copy_tree(*without_values(tree), 0, memory_location{}, stream, host_memory_resource());
    array = array_tree::to_arrow(host, 0);
  }
  validate_contents(types, array->array, true, false, path);
}

}  // namespace cudf_arrow_bridge::detail
