// SPDX-License-Identifier: Apache-2.0
#include "arrays/array_tree.hpp"
#include "arrays/foreign_array.hpp"
#include "base/errors.hpp"
#include "base/nvtx.hpp"
#include "compute/bits_on_device.hpp"
#include "compute/buffers.hpp"
#include "cuda/location/location.hpp"
#include "cuda/ordering/events.hpp"
#include "cuda/transfer/read_back.hpp"
#include "validate/validate.hpp"

#include <cudf_arrow_bridge/ipc.hpp>

#include <rmm/detail/error.hpp>
#include <rmm/device_buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge {
namespace detail {
namespace {

constexpr std::int64_t bytes_of_view = 16;

/// The memory of a body: the array, and converted copies of some of its buffers.
struct body_memory {
  std::shared_ptr<array_tree const> tree;
  std::vector<rmm::device_buffer> made;
};

/// The rows of one node in the body, counted from the start of the node's buffers.
struct body_rows {
  array_node const* node;
  std::int64_t begin;
  std::int64_t size;
  std::size_t first_child{0};  ///< in the list of all rows
  offset_ends ends{0, 0};      ///< of the offsets of these rows
  std::int64_t null_count{0};
  std::int64_t run_base{0};  ///< of run ends: the row at which these runs begin

  [[nodiscard]] bool is_whole() const { return begin == 0 && size == node->length; }
};

/// First finds the rows of all nodes, level by level, then lists nodes and buffers depth first.
class body_builder {
 public:
  body_builder(array_tree const& tree,
               body_memory& memory,
               execution const& exec,
               bool clears_bits,
               ipc_body& body)
    : tree_{tree}, memory_{memory}, exec_{exec}, clears_bits_{clears_bits}, body_{body}
  {
  }

  void describe(array_node const& root, bool is_table)
  {
    rows_.push_back({&root, root.offset, root.length});
    find_rows();
    find_null_counts();
    body_.length = root.length;
    if (!is_table) { return list(rows_.front()); }
    if (rows_.front().null_count > 0) {
      fail_invalid(column_path{}, "rows of a record batch are null: send it as a column");
    }
    list_children(rows_.front());
  }

 private:
  void find_rows()
  {
    for (std::size_t level = 0; level < rows_.size();) {
      auto const end = rows_.size();
      find_ends(level, end);
      for (; level < end; ++level) { add_children(level); }
    }
  }

  /// Reads the first and last offsets of all nodes of a level with one synchronization.
  void find_ends(std::size_t begin, std::size_t end)
  {
    auto batch = device::read_back{exec_.stream};
    auto reads = std::vector<std::pair<std::size_t, std::size_t>>{};
    for (auto i = begin; i < end; ++i) {
      auto& rows       = rows_[i];
      auto const& node = *rows.node;
      if (!has_offsets(node.layout) || rows.size == 0) { continue; }
      if (rows.is_whole() && node.has_extent()) {
        rows.ends = {0, node.extent()};
        continue;
      }
      auto const width  = offset_width(node.layout);
      auto const* first = static_cast<std::byte const*>(node.buffers[1]) + rows.begin * width;
      if (exec_.host) {
        rows.ends = read_ends(first, rows.size, width, exec_);
      } else {
        reads.emplace_back(i, batch.add(first, width));
        batch.add(first + rows.size * width, width);
      }
    }
    if (!batch.is_empty()) {
      batch.enqueue();
      batch.wait();
    }
    for (auto const& [i, number] : reads) {
      rows_[i].ends = {batch.at(number), batch.at(number + 1)};
    }
    for (auto i = begin; i < end; ++i) {
      check_offset_ends(rows_[i].ends.first, rows_[i].ends.last, column_path{});
    }
  }

  void add_children(std::size_t index)
  {
    auto const rows          = rows_[index];
    auto const& node         = *rows.node;
    rows_[index].first_child = rows_.size();
    auto const is_runs       = node.layout == array_layout::runs;
    auto const runs          = is_runs ? find_runs(rows) : offset_ends{};
    for (std::size_t i = 0; i < node.num_children; ++i) {
      auto const& child = tree_.nodes[node.first_child + i];
      auto begin        = rows.begin;
      auto size         = rows.size;
      switch (node.layout) {
        case array_layout::offsets32:
        case array_layout::offsets64:
          begin = rows.ends.first;
          size  = rows.ends.last - rows.ends.first;
          break;
        case array_layout::fixed_lists:
          begin *= node.per_row;
          size *= node.per_row;
          break;
        // Any row may refer to any place in the child.
        case array_layout::list_views32:
        case array_layout::list_views64:
          begin = 0;
          size  = child.length;
          break;
        case array_layout::runs:
          begin = runs.first;
          size  = runs.last - runs.first;
          break;
        default: break;
      }
      if (begin + size > child.length) {
        fail_invalid(column_path{},
                     "expected at least " + std::to_string(begin + size) +
                       " rows of a child, got " + std::to_string(child.length));
      }
      rows_.push_back({&child, child.offset + begin, size});
      if (is_runs && i == 0) { rows_.back().run_base = rows.begin; }
    }
  }

  /// Finds the runs of rows by binary search. In device memory each of its steps waits.
  offset_ends find_runs(body_rows const& rows)
  {
    auto const& ends  = tree_.nodes[rows.node->first_child];
    auto const search = [&](auto is_before) {
      auto const runs = std::views::iota(std::int64_t{0}, ends.length);
      return *std::ranges::partition_point(runs, is_before, [&](std::int64_t run) {
        return read_offset(
          ends.buffers[1], ends.offset + run, ends.per_row / 8, exec_.host, exec_.stream);
      });
    };
    if (rows.is_whole()) { return {0, ends.length}; }
    if (rows.size == 0) { return {0, 0}; }
    auto const last = rows.begin + rows.size;
    return {search([&](auto end) { return end <= rows.begin; }),
            search([&](auto end) { return end < last; }) + 1};
  }

  void list(body_rows const& rows)
  {
    auto const& node = *rows.node;
    body_.nodes.push_back({rows.size, rows.null_count});
    if (num_buffers(node.layout) > 0) {
      add_bits(rows.null_count == 0 ? nullptr : node.first_buffer()[0], rows, 1);
    }
    switch (node.layout) {
      case array_layout::fixed:
        if (rows.run_base != 0) {
          add_run_ends(rows);
        } else {
          add_bits(node.buffers[1], rows, node.per_row);
        }
        break;
      case array_layout::offsets32:
      case array_layout::offsets64: add_offsets(rows); break;
      case array_layout::string32:
      case array_layout::string64:
        add_offsets(rows);
        add(node.buffers[2], rows.ends.first, rows.ends.last - rows.ends.first);
        break;
      case array_layout::views: add_views(rows); break;
      case array_layout::list_views32:
      case array_layout::list_views64: {
        auto const width = offset_width(node.layout);
        add(node.buffers[1], rows.begin * width, rows.size * width);
        add(node.buffers[2], rows.begin * width, rows.size * width);
        break;
      }
      default: break;
    }
    if (node.dictionary != array_node::no_dictionary) {
      body_.dictionaries.push_back(array_tree::handle(memory_.tree, node.dictionary));
    }
    list_children(rows);
  }

  void list_children(body_rows const& rows)
  {
    for (std::size_t i = 0; i < rows.node->num_children; ++i) { list(rows_[rows.first_child + i]); }
  }

  /// Counts the nulls of nodes of which only some rows are included, with one synchronization.
  void find_null_counts()
  {
    auto uncounted = std::vector<body_rows*>{};
    auto masks     = std::vector<bit_range>{};
    for (auto& rows : rows_) {
      auto const& node = *rows.node;
      if (node.layout == array_layout::null) {
        rows.null_count = rows.size;
      } else if (rows.size == 0 || node.null_count == 0 || num_buffers(node.layout) == 0 ||
                 node.first_buffer()[0] == nullptr) {
        rows.null_count = 0;
      } else if (rows.size == node.length && node.null_count > 0) {
        rows.null_count = node.null_count;
      } else {
        uncounted.push_back(&rows);
        masks.push_back({node.first_buffer()[0], rows.begin, rows.size});
      }
    }
    if (masks.empty()) { return; }
    auto const counts = count_nulls(masks, exec_);
    for (std::size_t i = 0; i < counts.size(); ++i) { uncounted[i]->null_count = counts[i]; }
  }

  /// Adds a buffer of `bits` bits for each row. libcudf reads single bits in words of 32, so they
  /// are shared if they begin with a word and their last byte has no bits of other rows, or a
  /// download clears these.
  void add_bits(void const* buffer, body_rows const& rows, std::int64_t bits)
  {
    auto const range = bit_range{buffer, rows.begin * bits, rows.size * bits};
    auto const bytes = bytes_for_bits(range.size);
    if (buffer == nullptr || range.size == 0) { return add(nullptr, 0, 0); }
    auto const is_clear = ends_in_zeros(range, rows);
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
  [[nodiscard]] bool ends_in_zeros(bit_range const& range, body_rows const& rows) const
  {
    if (range.size % 8 == 0) { return true; }
    // The sender of a message has chosen the bits after all rows of a node.
    if (tree_.is_message && rows.is_whole()) { return true; }
    if (!exec_.host) { return false; }
    auto const* bytes = static_cast<std::uint8_t const*>(range.bits) + range.begin / 8;
    return bytes[range.size / 8] >> (range.size % 8) == 0;
  }

  void add_offsets(body_rows const& rows)
  {
    auto const width = offset_width(rows.node->layout);
    if (rows.size == 0) { return add_made(zeros(width, exec_), width); }
    auto const* offsets = rows.node->buffers[1];
    auto const begin    = rows.begin * width;
    auto const count    = rows.size + 1;
    if (rows.ends.first == 0) { return add(offsets, begin, count * width); }
    auto const type = width == 4 ? cudf::type_id::INT32 : cudf::type_id::INT64;
    add_made(rebase_offsets({static_cast<std::byte const*>(offsets) + begin, count, type},
                            rows.ends.first,
                            type,
                            exec_),
             count * width);
  }

  /// Adds run ends counted from the first row. The last may be larger than the number of rows.
  void add_run_ends(body_rows const& rows)
  {
    auto const width = rows.node->per_row / 8;
    auto const* ends = static_cast<std::byte const*>(rows.node->buffers[1]) + rows.begin * width;
    auto const type  = width == 2   ? cudf::type_id::INT16
                       : width == 4 ? cudf::type_id::INT32
                                    : cudf::type_id::INT64;
    add_made(rebase_offsets({ends, rows.size, type}, rows.run_base, type, exec_),
             rows.size * width);
  }

  void add_views(body_rows const& rows)
  {
    auto const& node = *rows.node;
    auto const last  = std::size_t{node.num_view_buffers} - 1;
    add(node.view_buffers[1], rows.begin * bytes_of_view, rows.size * bytes_of_view);
    // Messages do not contain the sizes of view buffers, because their metadata has the sizes of
    // all buffers.
    for (std::size_t slot = 2; slot < last; ++slot) {
      auto const size = read_offset(
        node.view_buffers[last], static_cast<std::int64_t>(slot) - 2, 8, exec_.host, exec_.stream);
      add(node.view_buffers[slot], 0, size);
    }
    body_.variadic_counts.push_back(static_cast<std::int64_t>(last) - 2);
  }

  void add(void const* buffer, std::int64_t skip, std::int64_t size)
  {
    if (buffer == nullptr || size == 0) { return body_.buffers.push_back({nullptr, 0}); }
    body_.buffers.push_back({static_cast<std::byte const*>(buffer) + skip, size});
  }

  void add_made(rmm::device_buffer&& buffer, std::int64_t size)
  { add(memory_.made.emplace_back(std::move(buffer)).data(), 0, size); }

  array_tree const& tree_;
  body_memory& memory_;
  execution const& exec_;
  bool clears_bits_;  ///< whether the bits after bitmaps are cleared here
  ipc_body& body_;
  std::vector<body_rows> rows_;
};

/// Keeps the source of enqueued copies alive until they are done, also if the body is destroyed
/// before.
void keep_until_done(std::shared_ptr<array_tree const> const& tree,
                     std::size_t node,
                     cuda::stream_ref stream)
{
  auto structs = array_tree::to_arrow(tree, node);
  foreign_array::own(structs.get(), false, stream);
}

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
  auto const host         = tree->location.device_type == ARROW_DEVICE_CPU;
  auto const place =
    host ? detail::resource_of_host(mr) : detail::resource_on_device(tree->location, mr);
  auto const guard = detail::guard_device(tree->location);
  auto const exec  = detail::execution{host, stream, place};
  array.make_wait(stream);
  auto memory   = std::make_shared<detail::body_memory>();
  memory->tree  = tree;
  auto body     = ipc_body{};
  body.location = tree->location;
  detail::body_builder{*tree, *memory, exec, host || !is_downloaded, body}.describe(
    tree->nodes[node], is_table);
  if (!host && !memory->made.empty()) { detail::keep_until_done(tree, node, stream); }
  body.owner = std::move(memory);
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
