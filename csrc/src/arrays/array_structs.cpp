// SPDX-License-Identifier: Apache-2.0
#include "arrays/array_structs.hpp"

#include "base/nanoarrow_errors.hpp"

#include <nanoarrow/nanoarrow.h>

#include <atomic>
#include <cstdint>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

/// Reference count over a tree. Each `ArrowArray` of one export holds one share.
struct shared_tree {
  std::shared_ptr<array_tree const> tree;
  std::atomic<std::size_t> num_shares{0};

  /// Drops one share; the last one drops the reference to the tree.
  void drop() noexcept
  {
    if (num_shares.fetch_sub(1, std::memory_order_acq_rel) == 1) { delete this; }
  }
};

void drop_share(ArrowBufferAllocator* allocator, std::uint8_t*, std::int64_t) noexcept
{ static_cast<shared_tree*>(allocator->private_data)->drop(); }

/// Deallocator of all buffers but the last one, which alone holds the array's share.
void free_nothing(ArrowBufferAllocator*, std::uint8_t*, std::int64_t) noexcept {}

/// The nanoarrow type with the same buffers as the node; the meaning of the values is irrelevant.
ArrowType storage_type(array_node const& node)
{
  switch (node.layout) {
    case array_layout::null: return NANOARROW_TYPE_NA;
    case array_layout::fixed: return NANOARROW_TYPE_FIXED_SIZE_BINARY;
    case array_layout::offsets32: return NANOARROW_TYPE_LIST;
    case array_layout::offsets64: return NANOARROW_TYPE_LARGE_LIST;
    case array_layout::string32: return NANOARROW_TYPE_BINARY;
    case array_layout::string64: return NANOARROW_TYPE_LARGE_BINARY;
    case array_layout::validity: return NANOARROW_TYPE_STRUCT;
    case array_layout::fixed_lists: return NANOARROW_TYPE_FIXED_SIZE_LIST;
    case array_layout::views: return NANOARROW_TYPE_BINARY_VIEW;
    case array_layout::list_views32: return NANOARROW_TYPE_LIST_VIEW;
    case array_layout::list_views64: return NANOARROW_TYPE_LARGE_LIST_VIEW;
    case array_layout::runs: return NANOARROW_TYPE_RUN_END_ENCODED;
  }
  return NANOARROW_TYPE_UNINITIALIZED;
}

/// A nanoarrow buffer over the tree's memory. Its size stays 0: the C data interface carries no
/// sizes, and some of them (the end of offsets) are known on the device only.
ArrowBuffer buffer_over(void const* memory, ArrowBufferAllocator allocator)
{
  auto* const data = static_cast<std::uint8_t*>(const_cast<void*>(memory));
  return {data, 0, 0, allocator};
}

class array_maker {
 public:
  explicit array_maker(std::shared_ptr<array_tree const> const& tree)
    : shared_{std::make_unique<shared_tree>(tree)},
      share_{ArrowBufferDeallocator(&drop_share, shared_.get())},
      no_share_{ArrowBufferDeallocator(&free_nothing, nullptr)}
  {
  }

  array_maker(array_maker const&)            = delete;
  array_maker& operator=(array_maker const&) = delete;

  /// Sets the count to the number of shares that arrays hold, also after a failure halfway. No
  /// array is released before that.
  ~array_maker()
  {
    if (num_shares_given_ == 0) { return; }
    auto* const given = shared_.release();
    given->num_shares.store(num_shares_given_, std::memory_order_relaxed);
  }

  void make(ArrowArray& array, std::size_t index)
  {
    auto const& node = shared_->tree->nodes[index];
    check(ArrowArrayInitFromType(&array, storage_type(node)));
    set_buffers(array, node);
    array.length     = node.length;
    array.offset     = node.offset;
    array.null_count = node.null_count;
    if (node.num_children > 0) { make_children(array, node); }
    if (node.dictionary != tree_links::no_dictionary) {
      check(ArrowArrayAllocateDictionary(&array));
      make(*array.dictionary, node.dictionary);
    }
  }

 private:
  static void check(ArrowErrorCode code) { check_nanoarrow(code, "an array"); }

  /// The deallocator of the last buffer holds the array's share of the tree.
  void set_buffers(ArrowArray& array, array_node const& node)
  {
    auto const count    = static_cast<std::int64_t>(node.num_buffers());
    auto const* buffers = node.first_buffer();
    if (count > array.n_buffers) {
      auto const added = static_cast<std::int32_t>(count - array.n_buffers);
      check(ArrowArrayAddVariadicBuffers(&array, added));
    }
    for (std::int64_t i = 0; i < count - 1; ++i) {
      if (buffers[i] != nullptr) { set_buffer(array, i, buffers[i], no_share_); }
    }
    if (count > 0) {
      set_buffer(array, count - 1, buffers[count - 1], share_);
    } else {
      // `n_buffers` is 0 here, yet nanoarrow keeps a validity bitmap and releases it.
      auto mask = ArrowBitmap{buffer_over(nullptr, share_), 0};
      ArrowArraySetValidityBitmap(&array, &mask);
    }
    ++num_shares_given_;
  }

  static void set_buffer(ArrowArray& array,
                         std::int64_t index,
                         void const* memory,
                         ArrowBufferAllocator allocator)
  {
    auto buffer = buffer_over(memory, allocator);
    check(ArrowArraySetBuffer(&array, index, &buffer));
  }

  void make_children(ArrowArray& array, array_node const& node)
  {
    auto const count = static_cast<std::int64_t>(node.num_children);
    auto const code  = ArrowArrayAllocateChildren(&array, count);
    if (code != NANOARROW_OK) {
      // nanoarrow sets `n_children` only after all allocations have succeeded. After a failure it
      // would leak those made so far.
      if (array.children != nullptr) { array.n_children = count; }
      check(code);
    }
    for (std::size_t i = 0; i < node.num_children; ++i) {
      // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): they have been allocated.
      make(*array.children[i], node.first_child + i);
    }
  }

  std::unique_ptr<shared_tree> shared_;
  std::size_t num_shares_given_{0};
  ArrowBufferAllocator share_;
  ArrowBufferAllocator no_share_;
};

}  // namespace

void build_array(std::shared_ptr<array_tree const> const& tree, std::size_t node, ArrowArray& root)
{ array_maker{tree}.make(root, node); }

}  // namespace cudf_arrow_bridge::detail
