// SPDX-License-Identifier: Apache-2.0
#include "ipc/check_contents.hpp"

#include "arrays/tree_copy.hpp"
#include "base/structure.hpp"
#include "compute/buffers.hpp"
#include "cuda/transfer/read_back.hpp"
#include "validate/validate.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <cstddef>
#include <string>
#include <utility>

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
    if (host_) { return check_level(tree_.nodes[0], types, path); }
    add_level(tree_.nodes[0], types);
    if (batch_.is_empty()) { return; }
    batch_.enqueue();
    batch_.wait();
    check_level(tree_.nodes[0], types, path);
  }

 private:
  static bool is_checked(array_node const& node)
  { return has_offsets(node.layout) && node.length > 0; }

  static std::byte const* last_of(array_node const& node)
  {
    return static_cast<std::byte const*>(node.buffers[1]) + node.length * offset_width(node.layout);
  }

  static bool has_runs(array_node const& node)
  { return node.layout == array_layout::runs && node.length > 0; }

  /// The address and the width in bytes of the last run end.
  [[nodiscard]] std::pair<std::byte const*, std::int64_t> last_run_of(
    array_node const& node, parsed_tree const& types) const
  {
    auto const& ends  = tree_.nodes[node.first_child];
    auto const width  = types.children.front().type.element_bits / 8;
    auto const* first = static_cast<std::byte const*>(ends.buffers[1]);
    return {first + (ends.length - 1) * width, width};
  }

  void add_level(array_node const& node, parsed_tree const& types)
  {
    if (has_runs(node)) {
      auto const [address, width] = last_run_of(node, types);
      batch_.add(address, width);
    }
    if (is_checked(node)) {
      auto const width = offset_width(node.layout);
      batch_.add(node.buffers[1], width);
      batch_.add(last_of(node), width);
    }
    for (std::size_t i = 0; i < node.num_children; ++i) {
      add_level(tree_.nodes[node.first_child + i], types.children[i]);
    }
  }

  void check_level(array_node const& node, parsed_tree const& types, column_path const& path)
  {
    if (has_runs(node)) {
      auto const [address, width] = last_run_of(node, types);
      check_runs(node, value(address, width), path);
    }
    if (is_checked(node)) {
      auto const width = offset_width(node.layout);
      check_ends(node, {value(node.buffers[1], width), value(last_of(node), width)}, path);
    }
    for (std::size_t i = 0; i < node.num_children; ++i) {
      auto const* name = name_of_child(*types.schema, static_cast<std::int64_t>(i));
      check_level(tree_.nodes[node.first_child + i], types.children[i], column_path{path, name});
    }
  }

  /// Reads an offset or run end; on device memory the next one that `add_level` has added.
  std::int64_t value(void const* address, std::int64_t width)
  {
    if (!host_) { return batch_.at(next_++); }
    return read_offset(address, 0, width, true, cuda::stream_ref{cudaStream_t{}});
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
  device::read_batch batch_;
  std::size_t next_{0};
};

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
  auto const on_host = tree->location.device_type == ARROW_DEVICE_CPU;
  auto const host =
    on_host ? tree : copy_tree(*tree, 0, memory_location{}, stream, host_memory_resource());
  auto const array = array_tree::to_arrow(host, 0);
  validate(types, array->array, path);
  validate_contents(types, array->array, true, path);
}

}  // namespace cudf_arrow_bridge::detail
