// SPDX-License-Identifier: Apache-2.0
#include "arrays/array_tree.hpp"
#include "arrays/foreign_array.hpp"
#include "base/errors.hpp"
#include "base/nvtx.hpp"
#include "compute/buffers.hpp"
#include "cuda/location/location.hpp"
#include "cuda/ordering/events.hpp"
#include "validate/validate.hpp"

#include <cudf_arrow_bridge/ipc.hpp>

#include <rmm/detail/error.hpp>
#include <rmm/device_buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge {
namespace detail {
namespace {

constexpr std::int64_t bytes_of_view = 16;

/// First finds the rows of all nodes, level by level, then lists nodes and buffers depth first.
class body_builder {
 public:
  body_builder(std::shared_ptr<array_tree const> const& source,
               execution const& exec,
               bool clears_bits,
               ipc_body& body)
    : source_{source},
      exec_{exec},
      clears_bits_{clears_bits},
      body_{body},
      rows_{std::make_shared<array_tree>()}
  { rows_->owner = source; }

  /// @return The owner of the buffers
  std::shared_ptr<array_tree const> describe(std::size_t root, bool is_table)
  {
    add_node(source_->nodes[root]);
    find_rows();
    rows_->count_unknown_nulls(exec_);
    auto const& node = rows_->nodes.front();
    body_.length     = node.length;
    if (!is_table) {
      list(0, 0);
      return rows_;
    }
    if (node.null_count > 0) {
      fail_invalid(column_path{}, "rows of a record batch are null: send it as a column");
    }
    list_children(node);
    return rows_;
  }

 private:
  struct part {
    array_node const& whole;  ///< node of the source
    offset_ends ends{0, 0};   ///< of the offsets of the rows
  };

  /// @return The node, of which the body has all rows until it is sliced
  array_node& add_node(array_node const& whole)
  {
    parts_.push_back({whole});
    return rows_->nodes.emplace_back(whole);
  }

  void find_rows()
  {
    for (std::size_t index = 0; index < parts_.size();) {
      auto const end = parts_.size();
      find_ends(index, end);
      for (; index < end; ++index) { find_rows_of_children(index); }
    }
  }

  /// Reads the first and last offsets of all nodes of a level with one synchronization.
  void find_ends(std::size_t begin, std::size_t end)
  {
    auto unknown = std::vector<std::size_t>{};
    auto places  = std::vector<stored_integer>{};
    for (auto index = begin; index < end; ++index) {
      auto const& node = rows_->nodes[index];
      if (!has_offsets(node.layout) || node.length == 0) { continue; }
      if (node.has_extent()) {
        parts_[index].ends = {0, node.extent()};
        continue;
      }
      auto const width  = offset_width(node.layout);
      auto const* first = static_cast<std::byte const*>(node.buffers[1]) + node.offset * width;
      unknown.push_back(index);
      places.push_back({first, width});
      places.push_back({first + node.length * width, width});
    }
    auto const found = read_integers(places, exec_.host, exec_.stream);
    for (std::size_t i = 0; i < unknown.size(); ++i) {
      auto& ends = parts_[unknown[i]].ends = {found[2 * i], found[2 * i + 1]};
      check_offset_ends(ends.first, ends.last, column_path{});
    }
  }

  void find_rows_of_children(std::size_t index)
  {
    auto& node           = rows_->nodes[index];
    auto const runs      = node.layout == array_layout::runs ? find_runs(index) : offset_ends{};
    auto const in_source = std::exchange(node.first_child, parts_.size());
    for (std::size_t i = 0; i < node.num_children; ++i) {
      auto const& whole = source_->nodes[in_source + i];
      auto begin        = node.offset;
      auto size         = node.length;
      switch (node.layout) {
        case array_layout::offsets32:
        case array_layout::offsets64:
          begin = parts_[index].ends.first;
          size  = parts_[index].ends.last - begin;
          break;
        case array_layout::fixed_lists:
          begin *= node.per_row;
          size *= node.per_row;
          break;
        // Any row may refer to any place in the child.
        case array_layout::list_views32:
        case array_layout::list_views64:
          begin = 0;
          size  = whole.length;
          break;
        case array_layout::runs:
          begin = runs.first;
          size  = runs.last - runs.first;
          break;
        default: break;
      }
      if (begin + size > whole.length) {
        fail_invalid(column_path{},
                     "expected at least " + std::to_string(begin + size) +
                       " rows of a child, got " + std::to_string(whole.length));
      }
      add_node(whole).slice(begin, size);
    }
  }

  /// Whether the body has all rows of a node, from the start of its buffers.
  [[nodiscard]] bool is_whole(array_node const& node, std::size_t index) const
  { return node.offset == 0 && node.length == parts_[index].whole.length; }

  /// Finds the runs of rows by binary search. In device memory each of its steps waits.
  offset_ends find_runs(std::size_t index)
  {
    auto const& node  = rows_->nodes[index];
    auto const& ends  = source_->nodes[node.first_child];
    auto const search = [&](auto is_before) {
      auto const runs = std::views::iota(std::int64_t{0}, ends.length);
      return *std::ranges::partition_point(runs, is_before, [&](std::int64_t run) {
        return read_offset(
          ends.buffers[1], ends.offset + run, ends.per_row / 8, exec_.host, exec_.stream);
      });
    };
    if (is_whole(node, index)) { return {0, ends.length}; }
    if (node.length == 0) { return {0, 0}; }
    auto const last = node.offset + node.length;
    return {search([&](auto end) { return end <= node.offset; }),
            search([&](auto end) { return end < last; }) + 1};
  }

  /// @param run_base Of run ends: the row at which these runs begin
  void list(std::size_t index, std::int64_t run_base)
  {
    auto const& node = rows_->nodes[index];
    auto const& ends = parts_[index].ends;
    body_.nodes.push_back({node.length, node.null_count});
    if (num_buffers(node.layout) > 0) {
      add_bits(node.null_count == 0 ? nullptr : node.first_buffer()[0], index, 1);
    }
    switch (node.layout) {
      case array_layout::fixed:
        if (run_base != 0) {
          // The last one may be larger than the number of rows.
          add_rebased(node, node.length, node.per_row / 8, run_base);
        } else {
          add_bits(node.buffers[1], index, node.per_row);
        }
        break;
      case array_layout::offsets32:
      case array_layout::offsets64: add_offsets(node, ends.first); break;
      case array_layout::string32:
      case array_layout::string64:
        add_offsets(node, ends.first);
        add(node.buffers[2], ends.first, ends.last - ends.first);
        break;
      case array_layout::views: add_views(node); break;
      case array_layout::list_views32:
      case array_layout::list_views64: {
        auto const width = offset_width(node.layout);
        add(node.buffers[1], node.offset * width, node.length * width);
        add(node.buffers[2], node.offset * width, node.length * width);
        break;
      }
      default: break;
    }
    if (node.dictionary != array_node::no_dictionary) {
      body_.dictionaries.push_back(array_tree::handle(source_, node.dictionary));
    }
    list_children(node);
  }

  void list_children(array_node const& node)
  {
    for (std::size_t i = 0; i < node.num_children; ++i) {
      auto const are_run_ends = node.layout == array_layout::runs && i == 0;
      list(node.first_child + i, are_run_ends ? node.offset : 0);
    }
  }

  /// Adds a buffer of `bits` bits for each row. libcudf reads single bits in words of 32, so they
  /// are shared if they begin with a word and their last byte has no bits of other rows, or a
  /// download clears these. The sender of a message has chosen the bits after all rows of a node.
  void add_bits(void const* buffer, std::size_t index, std::int64_t bits)
  {
    auto const& node = rows_->nodes[index];
    auto const range = bit_range{buffer, node.offset * bits, node.length * bits};
    auto const bytes = bytes_for_bits(range.size);
    if (buffer == nullptr || range.size == 0) { return add(nullptr, 0, 0); }
    auto const is_clear = (source_->is_message && is_whole(node, index)) || ends_in_zeros(range);
    if (range.begin % (bits == 1 ? 32 : 8) == 0 && (is_clear || !clears_bits_)) {
      add(buffer, range.begin / 8, bytes);
    } else {
      auto copy = copy_bits(range, exec_);
      if (!exec_.host && clears_bits_) { device::clear_bits_after(copy, range.size, exec_); }
      add_made(std::move(copy), bytes);
    }
    if (!is_clear && !clears_bits_) {
      body_.buffers.back().last_byte = std::byte{0xFF} >> (8 - range.size % 8);
    }
  }

  /// @return Whether the last byte of bits that begin with a byte is known to have only zeros after
  ///   them
  [[nodiscard]] bool ends_in_zeros(bit_range const& range) const
  {
    if (range.size % 8 == 0) { return true; }
    if (!exec_.host) { return false; }
    auto const* bytes = static_cast<std::uint8_t const*>(range.bits) + range.begin / 8;
    return bytes[range.size / 8] >> (range.size % 8) == 0;
  }

  void add_offsets(array_node const& node, std::int64_t base)
  {
    auto const width = offset_width(node.layout);
    if (node.length == 0) { return add_made(zeros(width, exec_), width); }
    if (base == 0) { return add(node.buffers[1], node.offset * width, (node.length + 1) * width); }
    add_rebased(node, node.length + 1, width, base);
  }

  /// Adds offsets or run ends minus `base`.
  void add_rebased(array_node const& node,
                   std::int64_t count,
                   std::int64_t width,
                   std::int64_t base)
  {
    auto const* first = static_cast<std::byte const*>(node.buffers[1]) + node.offset * width;
    auto const type   = width == 2   ? cudf::type_id::INT16
                        : width == 4 ? cudf::type_id::INT32
                                     : cudf::type_id::INT64;
    add_made(rebase_offsets({first, count, type}, base, type, exec_), count * width);
  }

  void add_views(array_node const& node)
  {
    auto const sizes = node.data_sizes(exec_.host);
    auto places      = std::vector<stored_integer>{};
    for (auto const& [buffer, place] : sizes) { places.push_back(place); }
    auto const found = read_integers(places, exec_.host, exec_.stream);
    add(node.view_buffers[1], node.offset * bytes_of_view, node.length * bytes_of_view);
    // Messages do not contain the sizes of view buffers, because their metadata has the sizes of
    // all buffers.
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      add(node.view_buffers[sizes[i].buffer], 0, found[i]);
    }
    body_.variadic_counts.push_back(std::ssize(sizes));
  }

  void add(void const* buffer, std::int64_t skip, std::int64_t size)
  {
    if (buffer == nullptr || size == 0) { return body_.buffers.push_back({nullptr, 0}); }
    body_.buffers.push_back({static_cast<std::byte const*>(buffer) + skip, size});
  }

  void add_made(rmm::device_buffer&& buffer, std::int64_t size)
  { add(rows_->conversions.emplace_back(std::move(buffer)).data(), 0, size); }

  std::shared_ptr<array_tree const> const& source_;
  execution const& exec_;
  bool clears_bits_;  ///< whether the bits after bitmaps are cleared here
  ipc_body& body_;
  std::shared_ptr<array_tree> rows_;  ///< has the rows of the body, and copies of some buffers
  std::vector<part> parts_;           ///< of the nodes of `rows_`
};

}  // namespace
}  // namespace detail

ipc_body describe_body(device_array const& array,
                       bool is_table,
                       cuda::stream_ref stream,
                       rmm::device_async_resource_ref mr,
                       bool is_downloaded)
{
  detail::nvtx_range const range{__func__};
  auto const [tree, node] = detail::array_tree::place_of(array);
  auto const exec         = detail::execution{tree->location, stream, mr};
  auto const guard        = detail::guard_device(tree->location);
  array.make_wait(stream);
  auto body     = ipc_body{};
  body.location = tree->location;
  auto const memory =
    detail::body_builder{tree, exec, exec.host || !is_downloaded, body}.describe(node, is_table);
  if (!exec.host && !memory->conversions.empty()) {
    // Keeps the source of the enqueued copies alive, also if the body is destroyed before their
    // end.
    auto structs = detail::array_tree::to_arrow(tree, node);
    detail::foreign_array::own(structs.get(), false, stream);
  }
  body.owner = memory;
  return body;
}

void ipc_body::wait(cuda::stream_ref stream) const
{
  if (location.device_type == ARROW_DEVICE_CPU) { return; }
  auto const guard = detail::guard_device(location);
  RMM_CUDA_TRY(detail::synchronize(stream));
}

std::int64_t ipc_body::packed_size() const noexcept
{
  auto size = std::int64_t{0};
  for (auto const& buffer : buffers) { size += ipc_padded(buffer.size); }
  return size;
}

}  // namespace cudf_arrow_bridge
