// SPDX-License-Identifier: Apache-2.0
#include "arrays/array_tree.hpp"
#include "base/errors.hpp"
#include "base/struct_memory.hpp"

#include <nanoarrow/nanoarrow.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cudf_arrow_bridge::detail {
namespace {

void check(ArrowErrorCode code) { check_nanoarrow(code, "an array"); }

/// Deallocator of all buffers: the memory of the structs owns the tree.
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

void make_array(array_tree const& tree, std::size_t index, ArrowArray& array)
{
  auto const& node = tree.nodes[index];
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
}

/// nanoarrow's release callback, a different function in each library; null if memory runs out.
auto release_of_nanoarrow() noexcept
{
  auto array         = ArrowArray{};
  auto const code    = ArrowArrayInitFromType(&array, NANOARROW_TYPE_NA);
  auto* const result = code == NANOARROW_OK ? array.release : nullptr;
  if (result != nullptr) { result(&array); }
  return result;
}

/// The number of bytes that nanoarrow allocates for an array, including the header of each
/// allocation.
constexpr auto bytes_of_array = std::size_t{450};

}  // namespace

unique_device_array array_tree::to_arrow(std::shared_ptr<array_tree const> const& tree,
                                         std::size_t node)
{
  unique_device_array result;
  {
    auto const num_arrays = tree->nodes[node].num_children + 1;
    auto const together   = struct_arena_scope{num_arrays * bytes_of_array, tree};
    make_array(*tree, node, result->array);
  }
  result->device_type = tree->location.device_type;
  result->device_id   = tree->location.device_id;
  // Consumers must not modify the event, although `sync_event` is a pointer to non-const.
  result->sync_event =
    tree->ready ? static_cast<void*>(const_cast<cudaEvent_t*>(tree->ready.handle())) : nullptr;
  return result;
}

array_tree const* array_tree::tree_of(ArrowArray const& array) noexcept
{
  static auto* const release = release_of_nanoarrow();
  if (release == nullptr || array.release != release) { return nullptr; }
  return static_cast<array_tree const*>(owner_of_struct(array.private_data));
}

}  // namespace cudf_arrow_bridge::detail
