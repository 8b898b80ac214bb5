// SPDX-License-Identifier: Apache-2.0
#include "array_structs.hpp"

#include "nanoarrow_errors.hpp"

#include <nanoarrow/nanoarrow.h>

#include <atomic>
#include <cstdint>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

/// The shares of a tree that the arrays of one export hold, one each.
class tree_shares {
 public:
  tree_shares(std::shared_ptr<array_tree const> tree, std::size_t count)
    : tree_{std::move(tree)}, count_{count}
  {
  }

  /// Gives shares back; with the last of them, the tree goes that the export has kept.
  void drop(std::size_t count) noexcept
  {
    if (count_.fetch_sub(count, std::memory_order_acq_rel) == count) { delete this; }
  }

 private:
  std::shared_ptr<array_tree const> tree_;
  std::atomic<std::size_t> count_;
};

void drop_share(ArrowBufferAllocator* allocator, std::uint8_t*, std::int64_t) noexcept
{ static_cast<tree_shares*>(allocator->private_data)->drop(1); }

/// The other buffers of an array are there as long as its share is.
void leave_alone(ArrowBufferAllocator*, std::uint8_t*, std::int64_t) noexcept {}

/// nanoarrow's word for the buffers that an array has, whatever their bytes mean.
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

/// Somebody else's memory as a buffer. No size is said: what reads the arrays has none to read, and
/// some sizes only a device knows.
ArrowBuffer buffer_over(void const* memory, ArrowBufferAllocator allocator)
{
  auto* const data = static_cast<std::uint8_t*>(const_cast<void*>(memory));
  return {data, 0, 0, allocator};
}

class array_maker {
 public:
  array_maker(std::shared_ptr<array_tree const> const& tree, std::size_t count)
    : tree_{*tree},
      shares_{new tree_shares{tree, count}},
      num_left_{count},
      share_{ArrowBufferDeallocator(&drop_share, shares_)},
      no_share_{ArrowBufferDeallocator(&leave_alone, nullptr)}
  {
  }

  array_maker(array_maker const&)            = delete;
  array_maker& operator=(array_maker const&) = delete;

  /// Those that no array got, as the making was cut short.
  ~array_maker()
  {
    if (num_left_ > 0) { shares_->drop(num_left_); }
  }

  void make(ArrowArray& array, std::size_t index)
  {
    auto const& node = tree_.nodes[index];
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

  void set_buffers(ArrowArray& array, array_node const& node)
  {
    auto const count    = static_cast<std::int64_t>(node.num_buffers());
    auto const* buffers = node.first_buffer();
    // Where there are no buffers at all, there is still a place for a mask, which nobody sees.
    auto mask = ArrowBitmap{buffer_over(count == 0 ? nullptr : buffers[0], share_), 0};
    ArrowArraySetValidityBitmap(&array, &mask);
    --num_left_;
    if (count > array.n_buffers) {
      auto const added = static_cast<std::int32_t>(count - array.n_buffers);
      check(ArrowArrayAddVariadicBuffers(&array, added));
    }
    for (std::int64_t i = 1; i < count; ++i) {
      auto buffer = buffer_over(buffers[i], no_share_);
      check(ArrowArraySetBuffer(&array, i, &buffer));
    }
  }

  void make_children(ArrowArray& array, array_node const& node)
  {
    auto const count = static_cast<std::int64_t>(node.num_children);
    auto const code  = ArrowArrayAllocateChildren(&array, count);
    // nanoarrow counts them once it has them all, and would forget some where memory ran out.
    if (code != NANOARROW_OK && array.children != nullptr) { array.n_children = count; }
    check(code);
    for (std::size_t i = 0; i < node.num_children; ++i) {
      make(*array.children[i], node.first_child + i);
    }
  }

  array_tree const& tree_;
  tree_shares* shares_;
  std::size_t num_left_;
  ArrowBufferAllocator share_;
  ArrowBufferAllocator no_share_;
};

}  // namespace

void build_array(std::shared_ptr<array_tree const> const& tree, std::size_t node, ArrowArray& root)
{
  auto const count = node == 0 ? tree->nodes.size() : num_nodes(*tree, node);
  array_maker{tree, count}.make(root, node);
}

}  // namespace cudf_arrow_bridge::detail
