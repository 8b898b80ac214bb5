// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Growing list whose nodes keep their addresses.
 *
 * Nodes are stored in blocks of less than 1 KiB. For larger requests glibc's malloc first
 * consolidates its freed small chunks, among them those of the structs that nanoarrow allocates.
 *
 * @tparam Node Trivial type, so that allocating a block initializes nothing
 */
template <typename Node>
class node_list {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Appends copies of all nodes of another list.
  void add_copies_of(node_list const& other)
  {
    auto const first = size_;
    add(other.size_);
    for (std::size_t i = 0; i < other.size_; ++i) { (*this)[first + i] = other[i]; }
  }

  Node& operator[](std::size_t index)
  { return blocks_[index / nodes_per_block][index % nodes_per_block]; }

  Node const& operator[](std::size_t index) const
  { return blocks_[index / nodes_per_block][index % nodes_per_block]; }

  /// Appends `count` nodes, uninitialized.
  void add(std::size_t count)
  {
    while (blocks_.size() * nodes_per_block < size_ + count) {
      blocks_.push_back(std::make_unique_for_overwrite<Node[]>(nodes_per_block));
    }
    size_ += count;
  }

 private:
  static constexpr std::size_t nodes_per_block = 1000 / sizeof(Node);

  std::vector<std::unique_ptr<Node[]>> blocks_;
  std::size_t size_{0};
};

}  // namespace cudf_arrow_bridge::detail
