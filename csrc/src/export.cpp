// SPDX-License-Identifier: Apache-2.0
#include "array_tree.hpp"
#include "convert.hpp"
#include "errors.hpp"
#include "location_finder.hpp"
#include "nvtx.hpp"

#include <cudf_arrow_bridge/export.hpp>
#include <cudf_arrow_bridge/types.hpp>

#include <cudf/column/column_view.hpp>
#include <cudf/dictionary/dictionary_column_view.hpp>
#include <cudf/lists/lists_column_view.hpp>
#include <cudf/strings/strings_column_view.hpp>

#include <rmm/cuda_device.hpp>
#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <optional>
#include <span>
#include <stdexcept>
#include <string>

namespace cudf_arrow_bridge {
namespace detail {
namespace {

/// Rows of a column counted from the head of its buffers, whatever offset the column claims.
struct row_range {
  std::int64_t begin;
  std::int64_t size;
  std::int64_t null_count;  ///< -1: nobody knows
};

row_range own_rows(cudf::column_view const& column)
{ return {column.offset(), column.size(), column.null_count()}; }

/// Rows that a parent imposes on a child. Counting the nulls of a part would mean reading the mask.
row_range parent_rows(cudf::column_view const& child, std::int64_t begin, std::int64_t size)
{
  auto const whole = begin == 0 && size == child.size();
  return {begin, size, child.null_count() == 0 || whole ? child.null_count() : -1};
}

memory_location location_of(std::span<cudf::column_view const> columns)
{
  auto finder = location_finder{};
  for (auto const& column : columns) { finder.add(column); }
  return finder.result();
}

/// Fills the nodes of a tree from column views.
class tree_builder {
 public:
  tree_builder(array_tree& tree, export_options const& options, placement const& where)
    : tree_{tree}, options_{options}, where_{where}
  {
  }

  std::size_t add_nodes(std::size_t count) { return tree_.add_nodes(count); }

  void fill(std::size_t index,
            cudf::column_view const& column,
            row_range const& rows,
            column_path const& path)
  {
    auto node = array_node{};  // complete before it is stored: filling children moves the nodes
    if (column.type().id() == cudf::type_id::EMPTY) {
      node.length = node.null_count = rows.size;
      tree_.nodes[index]            = node;
      return;
    }
    auto const begin = fill_validity(node, column, rows);
    auto const size  = node.offset + node.length;
    switch (column.type().id()) {
      case cudf::type_id::STRING: fill_string(node, column, begin, size, path); break;
      case cudf::type_id::LIST: fill_list(node, column, begin, size, path); break;
      case cudf::type_id::STRUCT: fill_struct(node, column, begin, size, path); break;
      case cudf::type_id::DICTIONARY32: fill_dictionary(node, column, begin, size, path); break;
      case cudf::type_id::BOOL8:
        fill_converted(node, 1, pack_bools(row(column, begin), to_size_type(size), where_));
        break;
      case cudf::type_id::DURATION_DAYS:
        fill_converted(node,
                       64,
                       cast_values(row(column, begin),
                                   to_size_type(size),
                                   cudf::type_id::DURATION_DAYS,
                                   cudf::type_id::DURATION_SECONDS,
                                   where_));
        break;
      default: fill_fixed(node, column, begin);
    }
    tree_.nodes[index] = node;
  }

  /// A record batch: a struct without a mask over columns that stand side by side.
  void set_table(std::size_t index, std::int64_t rows, std::size_t first, std::size_t count)
  {
    auto& node        = tree_.nodes[index];
    node.layout       = array_layout::validity;
    node.length       = rows;
    node.first_child  = first;
    node.num_children = count;
  }

 private:
  static cudf::size_type to_size_type(std::int64_t size)
  { return static_cast<cudf::size_type>(size); }

  static void const* row(cudf::column_view const& column, std::int64_t index)
  {
    auto const* head = column.head<std::byte>();
    return head == nullptr ? nullptr
                           : head + index * static_cast<std::int64_t>(cudf::size_of(column.type()));
  }

  static cudf::column_view child_of(cudf::column_view const& column,
                                    cudf::size_type index,
                                    column_path const& path)
  {
    if (index >= column.num_children()) {
      fail_invalid(path,
                   std::to_string(column.num_children()) + " children found, at least " +
                     std::to_string(index + 1) + " expected");
    }
    return column.child(index);
  }

  void const* keep(rmm::device_buffer&& buffer)
  { return tree_.conversions.emplace_back(std::move(buffer)).data(); }

  /// Sets length, offset, nulls and mask. @return The row at which the other buffers begin
  std::int64_t fill_validity(array_node& node,
                             cudf::column_view const& column,
                             row_range const& rows)
  {
    node.length      = rows.size;
    auto const* mask = reinterpret_cast<std::byte const*>(column.null_mask());
    if (mask == nullptr || rows.null_count == 0 || rows.size == 0) { return rows.begin; }

    node.null_count   = rows.null_count;
    auto const within = rows.begin % 8;
    if (within != 0 && options_.compact) {
      node.buffers[0]   = keep(copy_bits({mask, rows.begin, rows.size}, where_));
      node.converted[0] = true;
      return rows.begin;
    }
    node.buffers[0] = mask + rows.begin / 8;
    node.offset     = within;
    return rows.begin - within;
  }

  void fill_fixed(array_node& node, cudf::column_view const& column, std::int64_t begin)
  {
    node.layout       = array_layout::fixed;
    node.buffers[1]   = row(column, begin);
    node.element_bits = static_cast<std::int64_t>(cudf::size_of(column.type())) * 8;
  }

  void fill_converted(array_node& node, std::int64_t element_bits, rmm::device_buffer&& data)
  {
    node.layout       = array_layout::fixed;
    node.buffers[1]   = keep(std::move(data));
    node.converted[1] = true;
    node.element_bits = element_bits;
  }

  /// Even an array of no rows has one offset in Arrow; libcudf may leave the buffer out, and the
  /// offset at which an empty slice stands need not be the zero that consumers expect.
  void fill_offsets(array_node& node,
                    std::optional<cudf::column_view> const& offsets,
                    std::int64_t begin,
                    std::int64_t size,
                    column_path const& path)
  {
    auto const width = offsets.has_value() && offsets->type().id() == cudf::type_id::INT64 ? 8 : 4;
    if (size == 0) {
      // 8 bytes serve readers of either width: without a child nothing tells which one it was.
      node.buffers[1]   = keep(zeros(8, where_));
      node.converted[1] = true;
      return;
    }
    if (!offsets.has_value() || offsets->size() <= begin + size) {
      fail_invalid(path,
                   std::to_string(offsets.has_value() ? offsets->size() : 0) + " offsets found, " +
                     std::to_string(begin + size + 1) + " expected");
    }
    node.buffers[1] = offsets->head<std::byte>() + (offsets->offset() + begin) * width;
  }

  void fill_string(array_node& node,
                   cudf::column_view const& column,
                   std::int64_t begin,
                   std::int64_t size,
                   column_path const& path)
  {
    auto offsets = std::optional<cudf::column_view>{};
    if (column.num_children() > 0) {
      offsets = column.child(cudf::strings_column_view::offsets_column_index);
    }
    auto const large = offsets.has_value() && offsets->type().id() == cudf::type_id::INT64;
    node.layout      = large ? array_layout::string64 : array_layout::string32;
    fill_offsets(node, offsets, begin, size, path);
    node.buffers[2] = column.head<void>();
  }

  void fill_list(array_node& node,
                 cudf::column_view const& column,
                 std::int64_t begin,
                 std::int64_t size,
                 column_path const& path)
  {
    node.layout        = array_layout::offsets32;
    auto const offsets = child_of(column, cudf::lists_column_view::offsets_column_index, path);
    auto const element = child_of(column, cudf::lists_column_view::child_column_index, path);
    fill_offsets(node, offsets, begin, size, path);
    node.num_children = 1;
    node.first_child  = add_nodes(1);
    fill(node.first_child, element, own_rows(element), column_path{path, "[]"});
  }

  void fill_struct(array_node& node,
                   cudf::column_view const& column,
                   std::int64_t begin,
                   std::int64_t size,
                   column_path const& path)
  {
    node.layout       = array_layout::validity;
    node.num_children = static_cast<std::size_t>(column.num_children());
    node.first_child  = add_nodes(node.num_children);
    for (cudf::size_type i = 0; i < column.num_children(); ++i) {
      auto const child      = column.child(i);
      auto const name       = std::to_string(i);  // columns have no others
      auto const child_path = column_path{path, name.c_str()};
      if (child.size() < begin + size) {
        fail_invalid(child_path,
                     std::to_string(child.size()) + " rows found, at least " +
                       std::to_string(begin + size) + " expected by the struct");
      }
      fill(node.first_child + static_cast<std::size_t>(i),
           child,
           parent_rows(child, begin, size),
           child_path);
    }
  }

  void fill_dictionary(array_node& node,
                       cudf::column_view const& column,
                       std::int64_t begin,
                       std::int64_t size,
                       column_path const& path)
  {
    auto const indices = child_of(column, cudf::dictionary_column_view::indices_column_index, path);
    if (indices.size() < begin + size) {
      fail_invalid(path,
                   std::to_string(indices.size()) + " dictionary indices found, at least " +
                     std::to_string(begin + size) + " expected");
    }
    fill_fixed(node, indices, begin);
    auto const keys = child_of(column, cudf::dictionary_column_view::keys_column_index, path);
    node.dictionary = add_nodes(1);
    fill(node.dictionary, keys, own_rows(keys), path);
  }

  array_tree& tree_;
  export_options const& options_;
  placement const& where_;
};

/// Makes the device current that owns the memory, where one does.
std::optional<rmm::cuda_set_device_raii> on_device(memory_location const& location)
{
  if (location.device_type != ARROW_DEVICE_CUDA) { return std::nullopt; }
  return std::optional<rmm::cuda_set_device_raii>{
    std::in_place, rmm::cuda_device_id{static_cast<int>(location.device_id)}};
}

/// Builds a tree over `columns`, with whatever root `fill_root` makes of them.
template <typename FillRoot>
std::shared_ptr<array_tree const> build_tree(std::span<cudf::column_view const> columns,
                                             std::shared_ptr<void const> owner,
                                             export_options const& options,
                                             cuda::stream_ref stream,
                                             rmm::device_async_resource_ref mr,
                                             FillRoot fill_root)
{
  auto tree        = std::make_shared<array_tree>();
  tree->owner      = std::move(owner);
  tree->location   = location_of(columns);
  auto const host  = tree->location.device_type == ARROW_DEVICE_CPU;
  auto const guard = on_device(tree->location);
  auto const where = placement{host, stream, host ? host_memory_resource() : mr};
  auto builder     = tree_builder{*tree, options, where};
  tree->nodes.reserve(columns.size() + 1);
  fill_root(builder, builder.add_nodes(1));
  if (options.managed_as_cuda && tree->location.device_type == ARROW_DEVICE_CUDA_MANAGED) {
    tree->location.device_type = ARROW_DEVICE_CUDA;
  }
  if (!host) {
    // After all that the export itself enqueued.
    tree->ready = pooled_event::acquire();
    RMM_CUDA_TRY(tree->ready.record(stream));
  }
  return tree;
}

}  // namespace
}  // namespace detail

device_array to_arrow_device(cudf::column_view const& column,
                             std::shared_ptr<void const> owner,
                             export_options const& options,
                             cuda::stream_ref stream,
                             rmm::device_async_resource_ref mr)
{
  detail::nvtx_range const range{__func__};
  auto tree = detail::build_tree(
    {&column, 1}, std::move(owner), options, stream, mr, [&](auto& builder, std::size_t root) {
      builder.fill(root, column, detail::own_rows(column), column_path{});
    });
  return detail::array_tree::handle(std::move(tree));
}

device_array to_arrow_device(cudf::table_view const& table,
                             std::shared_ptr<void const> owner,
                             export_options const& options,
                             cuda::stream_ref stream,
                             rmm::device_async_resource_ref mr)
{
  detail::nvtx_range const range{__func__};
  auto const columns = std::span<cudf::column_view const>{table.begin(), table.end()};
  auto tree          = detail::build_tree(
    columns, std::move(owner), options, stream, mr, [&](auto& builder, std::size_t root) {
      auto const first = builder.add_nodes(columns.size());
      auto const top   = column_path{};
      for (std::size_t i = 0; i < columns.size(); ++i) {
        auto const name = std::to_string(i);
        builder.fill(
          first + i, columns[i], detail::own_rows(columns[i]), column_path{top, name.c_str()});
      }
      builder.set_table(root, table.num_rows(), first, columns.size());
    });
  return detail::array_tree::handle(std::move(tree));
}

}  // namespace cudf_arrow_bridge
