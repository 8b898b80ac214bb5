// SPDX-License-Identifier: Apache-2.0
#include "arrays/array_tree.hpp"
#include "base/errors.hpp"

#include <nanoarrow/nanoarrow.h>

#include <atomic>
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

/// The tree that owns the buffers of the structs of one export. Consumers may move each of these
/// structs, so each has a share.
struct exported_tree {
  std::shared_ptr<array_tree const> tree;
  std::atomic<std::size_t> num_shares{0};
};

/// Deallocator of one buffer of each struct.
void drop_share(ArrowBufferAllocator* allocator, std::uint8_t*, std::int64_t) noexcept
{
  auto* const exported = static_cast<exported_tree*>(allocator->private_data);
  if (exported->num_shares.fetch_sub(1, std::memory_order_acq_rel) == 1) { delete exported; }
}

/// The callback of this library's copy of nanoarrow; null before the first export.
std::atomic<void (*)(ArrowArray*)> release_of_exports{nullptr};

void add_share(ArrowBufferAllocator& allocator, exported_tree& exported) noexcept
{
  exported.num_shares.fetch_add(1, std::memory_order_relaxed);
  allocator = ArrowBufferDeallocator(&drop_share, &exported);
}

void make_array(exported_tree& exported, std::size_t index, ArrowArray& array)
{
  auto const& node = exported.tree->nodes[index];
  check(ArrowArrayInitFromType(&array, static_cast<ArrowType>(node.layout)));
  set_buffers(array, node);
  add_share(ArrowArrayValidityBitmap(&array)->buffer.allocator, exported);
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
      make_array(exported, node.first_child + i, *array.children[i]);
    }
  }
  if (node.dictionary != tree_links::no_dictionary) {
    check(ArrowArrayAllocateDictionary(&array));
    make_array(exported, node.dictionary, *array.dictionary);
  }
}

}  // namespace

unique_device_array array_tree::to_arrow(std::shared_ptr<array_tree const> const& tree,
                                         std::size_t node)
{
  auto own             = ArrowBufferAllocator{};
  auto* const exported = new exported_tree{tree};
  add_share(own, *exported);
  auto const drop = std::unique_ptr<ArrowBufferAllocator, void (*)(ArrowBufferAllocator*)>{
    &own, [](auto* share) { drop_share(share, nullptr, 0); }};
  unique_device_array result;
  make_array(*exported, node, result->array);
  release_of_exports  = result->array.release;
  result->device_type = tree->location.device_type;
  result->device_id   = tree->location.device_id;
  // Consumers must not modify the event, although `sync_event` is a pointer to non-const.
  result->sync_event =
    tree->ready ? static_cast<void*>(const_cast<cudaEvent_t*>(tree->ready.handle())) : nullptr;
  return result;
}

array_tree const* array_tree::tree_of(ArrowArray const& array) noexcept
{
  if (array.release == nullptr || array.release != release_of_exports) { return nullptr; }
  auto const& allocator =
    ArrowArrayValidityBitmap(const_cast<ArrowArray*>(&array))->buffer.allocator;
  if (allocator.free != &drop_share) { return nullptr; }
  return static_cast<exported_tree const*>(allocator.private_data)->tree.get();
}

}  // namespace cudf_arrow_bridge::detail
