// SPDX-License-Identifier: Apache-2.0
#include "testing/exports.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace cudf_arrow_bridge::test {
namespace {

using detail::array_layout;
using detail::array_node;

bool is_aligned(void const* address, std::int64_t alignment)
{ return reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(alignment) == 0; }

/// Return a signed integer of a buffer.
std::int64_t integer_at(void const* buffer, std::int64_t width, std::int64_t index)
{
  auto const* source = static_cast<std::byte const*>(buffer) + index * width;
  auto narrow        = std::int32_t{0};
  auto wide          = std::int64_t{0};
  if (width == 4) {
    std::memcpy(&narrow, source, sizeof narrow);
    return narrow;
  }
  std::memcpy(&wide, source, sizeof wide);
  return wide;
}

class checker {
 public:
  checker(detail::array_tree const& tree, export_check_options const& options)
    : tree_{tree}, options_{options}
  {
  }

  /// @param before Rows that libcudf skips because of the offsets of the parent structs
  void visit(array_node const& node, std::int64_t before, std::string const& path)
  {
    check_mask(node, before, path);
    check_alignment(node, path);
    if (has_offsets(node.layout)) { check_offsets(node, path); }
    for (std::size_t i = 0; i < node.num_children; ++i) {
      visit(tree_.nodes[node.first_child + i],
            node.layout == array_layout::validity ? before + node.offset : 0,
            path + '.' + std::to_string(i));
    }
    if (node.dictionary != array_node::no_dictionary) {
      visit(tree_.nodes[node.dictionary], 0, path + ".keys");
    }
  }

  [[nodiscard]] std::vector<std::string> take() && { return std::move(found_); }

 private:
  void expect(bool holds, std::string const& path, char const* name, std::string const& what)
  {
    if (!holds) { found_.push_back(path + ": " + name + ": " + what); }
  }

  void check_mask(array_node const& node, std::int64_t before, std::string const& path)
  {
    expect(node.null_count >= 0, path, "null_count_is_exact", "unknown");
    if (node.layout == array_layout::null || node.num_buffers() == 0) { return; }
    auto const* mask = static_cast<std::byte const*>(node.first_buffer()[0]);
    auto const rows  = node.offset + node.length;
    if (mask == nullptr || node.length == 0) {
      expect(node.null_count == 0, path, "null_count_is_exact", "nulls without a mask");
      return;
    }
    expect(is_aligned(mask, 4), path, "mask_is_on_word", "a mask between words");
    auto const allocation = options_.allocation_of(mask);
    if (!allocation.empty()) {
      auto const block = node.offset + before == 0 ? 512 : 32;
      auto const size  = (rows + block - 1) / block * (block / 8);
      expect(mask + size <= allocation.data() + allocation.size(),
             path,
             "mask_is_padded",
             std::to_string(allocation.data() + allocation.size() - mask) + " bytes for " +
               std::to_string(rows) + " rows");
    }
    if (!options_.readable) { return; }
    auto nulls = std::int64_t{0};
    for (auto row = node.offset; row < rows; ++row) {
      nulls += (std::to_integer<int>(mask[row / 8]) >> (row % 8) & 1) == 0 ? 1 : 0;
    }
    expect(node.null_count == nulls,
           path,
           "null_count_is_exact",
           std::to_string(node.null_count) + " for " + std::to_string(nulls));
  }

  void check_alignment(array_node const& node, std::string const& path)
  {
    auto const check = [&](std::size_t slot, std::int64_t width) {
      expect(is_aligned(node.first_buffer()[slot], std::min<std::int64_t>(width, 8)),
             path,
             "data_is_aligned",
             "a buffer between values of " + std::to_string(width) + " bytes");
    };
    if (has_offsets(node.layout)) { return check(1, offset_width(node.layout)); }
    if (node.layout == array_layout::views) { return check(1, 8); }
    if (node.layout != array_layout::fixed) { return; }
    // Bits are read as words. Values whose width is not a power of two are read as bytes.
    auto const bits = node.per_row;
    check(1, bits == 1 ? 4 : (bits & (bits - 1)) == 0 ? std::max<std::int64_t>(bits / 8, 1) : 1);
  }

  void check_offsets(array_node const& node, std::string const& path)
  {
    expect(node.buffers[1] != nullptr, path, "offsets_are_there", "none");
    if (node.buffers[1] == nullptr || !options_.readable) { return; }
    auto const width = offset_width(node.layout);
    auto last        = integer_at(node.buffers[1], width, 0);
    expect(last >= 0, path, "offsets_ascend", "a negative one");
    for (std::int64_t row = 1; row <= node.offset + node.length; ++row) {
      auto const next = integer_at(node.buffers[1], width, row);
      expect(next >= last, path, "offsets_ascend", "a falling one");
      last = next;
    }
    if (!detail::has_child_by_offsets(node.layout)) { return; }
    auto const size = tree_.nodes[node.first_child].length;
    expect(last <= size,
           path,
           "offsets_stay_within",
           std::to_string(last) + " of " + std::to_string(size) + " elements");
  }

  detail::array_tree const& tree_;
  export_check_options const& options_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> find_export_violations(detail::array_tree const& tree,
                                                std::size_t node,
                                                export_check_options const& options)
{
  auto result = checker{tree, options};
  result.visit(tree.nodes[node], 0, "array");
  return std::move(result).take();
}

}  // namespace cudf_arrow_bridge::test
