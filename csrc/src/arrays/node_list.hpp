// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Nodes that stay where they are while more are added.
 *
 * They stand in pieces of less than 1 KiB: asked for more than that, glibc's heap first gathers all
 * the small pieces that have been freed, those of the C structs that nanoarrow makes among them.
 *
 * @tparam Node Trivial, so that nodes cost nothing before they are set
 */
template <typename Node>
class node_list {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  Node& operator[](std::size_t index) { return pieces_[index / in_piece][index % in_piece]; }

  Node const& operator[](std::size_t index) const
  { return pieces_[index / in_piece][index % in_piece]; }

  /// Appends nodes, for the caller to set.
  void add(std::size_t count)
  {
    while (pieces_.size() * in_piece < size_ + count) {
      pieces_.push_back(std::make_unique_for_overwrite<Node[]>(in_piece));
    }
    size_ += count;
  }

 private:
  static constexpr std::size_t in_piece = 1000 / sizeof(Node);

  std::vector<std::unique_ptr<Node[]>> pieces_;
  std::size_t size_{0};
};

}  // namespace cudf_arrow_bridge::detail
