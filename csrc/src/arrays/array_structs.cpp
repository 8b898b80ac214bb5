// SPDX-License-Identifier: Apache-2.0
#include "arrays/array_tree.hpp"
#include "base/errors.hpp"

#include <nanoarrow/nanoarrow.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cudf_arrow_bridge::detail {
namespace {

void check(ArrowErrorCode code) { check_nanoarrow(code, "an array"); }

/// Deallocator of all buffers, which belong to the tree.
void free_nothing(ArrowBufferAllocator*, std::uint8_t*, std::int64_t) noexcept {}

void set_buffers(ArrowArray& array, array_node const& node)
{
  auto const count    = static_cast<std::int64_t>(node.num_buffers());
  auto const* buffers = node.first_buffer();
  if (count > array.n_buffers) {
    auto const added = static_cast<std::int32_t>(count - array.n_buffers);
    check(ArrowArrayAddVariadicBuffers(&array, added));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    if (buffers[i] == nullptr) { continue; }
    auto* const data = static_cast<std::uint8_t*>(const_cast<void*>(buffers[i]));
    // Its size stays 0: the C data interface has no sizes, and some of them (the last offset) are
    // known only on the device.
    auto buffer = ArrowBuffer{data, 0, 0, ArrowBufferDeallocator(&free_nothing, nullptr)};
    check(ArrowArraySetBuffer(&array, i, &buffer));
  }
}

/// The private data of an exported array: nanoarrow's, and the tree that owns the buffers.
struct exported_array {
  std::shared_ptr<array_tree const> tree;
  void* private_data;
  void (*release)(ArrowArray*);
};

void release_exported(ArrowArray* array) noexcept
{
  auto const held =
    std::unique_ptr<exported_array>{static_cast<exported_array*>(array->private_data)};
  array->private_data = held->private_data;
  held->release(array);
}

void make_array(std::shared_ptr<array_tree const> const& tree, std::size_t index, ArrowArray& array)
{
  auto const& node = tree->nodes[index];
  check(ArrowArrayInitFromType(&array, static_cast<ArrowType>(node.layout)));
  set_buffers(array, node);
  array.length     = node.length;
  array.offset     = node.offset;
  array.null_count = node.null_count;
  if (node.num_children > 0) {
    auto const count = static_cast<std::int64_t>(node.num_children);
    auto const code  = ArrowArrayAllocateChildren(&array, count);
    if (code != NANOARROW_OK) {
      // nanoarrow sets `n_children` only after all allocations have succeeded. After a failure it
      // would leak the earlier ones.
      if (array.children != nullptr) { array.n_children = count; }
      check(code);
    }
    for (std::size_t i = 0; i < node.num_children; ++i) {
      // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): they are allocated.
      make_array(tree, node.first_child + i, *array.children[i]);
    }
  }
  if (node.dictionary != tree_links::no_dictionary) {
    check(ArrowArrayAllocateDictionary(&array));
    make_array(tree, node.dictionary, *array.dictionary);
  }
  array.private_data =
    std::make_unique<exported_array>(tree, array.private_data, array.release).release();
  array.release = release_exported;
}

}  // namespace

unique_device_array array_tree::to_arrow(std::shared_ptr<array_tree const> const& tree,
                                         std::size_t node)
{
  unique_device_array result;
  make_array(tree, node, result->array);
  result->device_type = tree->location.device_type;
  result->device_id   = tree->location.device_id;
  // Consumers must not modify the event, although `sync_event` is a pointer to non-const.
  result->sync_event =
    tree->ready ? static_cast<void*>(const_cast<cudaEvent_t*>(tree->ready.handle())) : nullptr;
  return result;
}

array_tree const* array_tree::tree_of(ArrowArray const& array) noexcept
{
  if (array.release != release_exported) { return nullptr; }
  return static_cast<exported_array const*>(array.private_data)->tree.get();
}

}  // namespace cudf_arrow_bridge::detail
