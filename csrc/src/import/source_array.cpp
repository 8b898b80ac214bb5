// SPDX-License-Identifier: Apache-2.0
#include "import/source_array.hpp"

#include "arrays/array_tree.hpp"
#include "cuda/location/location.hpp"
#include "cuda/ordering/captures.hpp"
#include "cuda/transfer/staging.hpp"
#include "validate/validate.hpp"

#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/owners.hpp>

#include <rmm/aligned.hpp>
#include <rmm/device_buffer.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {
namespace {

/// Whether memory is on another device than the current one. Pinned memory is on none.
bool is_far(memory_location const& location, memory_location const& current)
{
  return location.device_type != ARROW_DEVICE_CPU &&
         location.device_type != ARROW_DEVICE_CUDA_HOST && location.device_id != current.device_id;
}

/// @return The array's location. Throws if it is neither CPU nor CUDA memory, or there is no GPU.
memory_location location_of(ArrowDeviceArray const& array)
{
  if (array.device_type == ARROW_DEVICE_CPU) { return {}; }
  auto const location = memory_location{array.device_type, array.device_id};
  auto const is_cuda  = array.device_type == ARROW_DEVICE_CUDA ||
                        array.device_type == ARROW_DEVICE_CUDA_HOST ||
                        array.device_type == ARROW_DEVICE_CUDA_MANAGED;
  if (!is_cuda) {
    throw std::invalid_argument{"expected CPU or CUDA memory, got " + to_string(location)};
  }
  if (!has_gpu()) {
    throw std::invalid_argument{"the data is in " + to_string(location) +
                                ", and this process has no CUDA device"};
  }
  return location;
}

void wait_for_producer(ArrowDeviceArray const& array, cuda::stream_ref stream)
{
  if (array.sync_event == nullptr) { return; }
  auto const event  = *static_cast<cudaEvent_t const*>(array.sync_event);
  auto const status = cudaStreamWaitEvent(stream.get(), event);
  if (status != cudaSuccess) {
    (void)cudaGetLastError();
    throw std::invalid_argument{std::string{"CUDA rejects the array's sync event: "} +
                                cudaGetErrorString(status)};
  }
}

void view_node(array_tree& tree,
               std::size_t index,
               parsed_tree const& types,
               ArrowArray const& array)
{
  auto const& type = types.type;
  auto& node = tree.nodes[index] = {};
  node.layout                    = type.layout;
  node.length                    = array.length;
  node.null_count                = array.null_count;
  node.offset                    = array.offset;
  if (node.layout == array_layout::views) {
    tree.add_view_buffers(node, static_cast<std::size_t>(array.n_buffers));
  }
  for (std::size_t i = 0; i < node.num_buffers(); ++i) { node.buffer(i) = array.buffers[i]; }
  if (node.layout == array_layout::fixed) { node.per_row = type.element_bits; }
  if (node.layout == array_layout::fixed_lists) { node.per_row = type.list_size; }
  node.num_children = static_cast<std::size_t>(array.n_children);
  node.first_child  = tree.add_nodes(node.num_children);
  for (std::size_t i = 0; i < node.num_children; ++i) {
    view_node(tree, node.first_child + i, types.children[i], *array.children[i]);
  }
  if (array.dictionary != nullptr) {
    node.dictionary = tree.add_nodes(1);
    view_node(tree, node.dictionary, types.children[0], *array.dictionary);
  }
}

/// Describes an array, which has been validated for `types`, as a tree over its own buffers. Copies
/// and owns nothing.
std::unique_ptr<array_tree const> view_tree(parsed_tree const& types,
                                            ArrowArray const& array,
                                            memory_location const& location)
{
  auto tree      = std::make_unique<array_tree>();
  tree->location = location;
  view_node(*tree, tree->add_nodes(1), types, array);
  return tree;
}

/// Validates the contents of device memory on a copy in host memory. Memory of another device is
/// first copied to the device `current`, because the stream may have no access to it.
void validate_copy(import_call const& call,
                   memory_location const& location,
                   memory_location const& current)
{
  auto near = std::shared_ptr<array_tree const>{view_tree(call.types, call.array->array, location)};
  if (location.device_type == ARROW_DEVICE_CUDA && location != current) {
    near = copy_tree(*near, 0, current, call.stream, call.mr);
  }
  auto const copy = array_tree::to_arrow(copy_tree(*near, 0, {}, call.stream, call.mr), 0);
  validate_contents(call.types, copy->array, true, true, call.path);
}

constexpr auto least_alone   = std::size_t{1} << 20;  ///< bytes; smaller buffers share a block
constexpr auto most_of_block = std::size_t{1} << 26;

/// The bytes of a block that a buffer takes. It is aligned like an allocation of rmm.
std::size_t packed_size(std::size_t size)
{ return rmm::align_up(size, rmm::CUDA_ALLOCATION_ALIGNMENT); }

/// A level of a host column. Its children follow it.
struct host_level {
  cudf::data_type type;
  cudf::size_type size;
  cudf::size_type null_count;
  cudf::column::contents contents;

  [[nodiscard]] std::size_t mask_size() const
  {
    auto const is_empty = contents.null_mask->is_empty();
    return is_empty ? 0 : static_cast<std::size_t>(padded_mask_size(size));
  }
};

void add_levels(std::vector<host_level>& levels, std::unique_ptr<cudf::column> source)
{
  auto const index = levels.size();
  levels.push_back({source->type(), source->size(), source->null_count(), source->release()});
  for (std::size_t i = 0; i < levels[index].contents.children.size(); ++i) {
    add_levels(levels, std::move(levels[index].contents.children[i]));
  }
}

/// Copies host columns to the current device. Small buffers are packed into blocks, which their
/// columns share as they would share a producer's array.
class uploader {
 public:
  uploader(std::vector<host_level> const& levels,
           cuda::stream_ref stream,
           rmm::device_async_resource_ref mr)
    : next_{levels.begin()}, stream_{stream}, mr_{mr}
  {
    for (auto const& level : levels) {
      for (auto const size : {level.contents.data->size(), level.mask_size()}) {
        total_ += packed_size(size);
        if (size < least_alone) { to_pack_ += packed_size(size); }
      }
    }
  }

  /// @return A copy of the next column
  std::unique_ptr<cudf::column> column()
  {
    auto const& level = *next_++;
    auto data         = buffer(*level.contents.data, level.contents.data->size());
    auto mask         = buffer(*level.contents.null_mask, level.mask_size());
    auto children     = std::vector<std::unique_ptr<cudf::column>>(level.contents.children.size());
    for (auto& child : children) { child = column(); }
    return std::make_unique<cudf::column>(level.type,
                                          level.size,
                                          std::move(data),
                                          std::move(mask),
                                          level.null_count,
                                          std::move(children));
  }

  /// Enqueues the last copies.
  void finish()
  {
    if (copies_) { copies_->finish(); }
  }

 private:
  /// Copies a host buffer to one of `size` bytes, which ends with zeros.
  rmm::device_buffer buffer(rmm::device_buffer const& source, std::size_t size)
  {
    if (size == 0) { return rmm::device_buffer{0, stream_, mr_}; }
    if (!copies_) { copies_ = std::make_unique<host_upload>(total_, stream_); }
    if (size >= least_alone) {
      auto result = rmm::device_buffer{size, stream_, mr_};
      copies_->copy(result.data(), source.data(), source.size(), size);
      return result;
    }
    auto const taken = packed_size(size);
    if (taken > left_) { start_block(); }
    auto* const target = std::exchange(block_, block_ + taken);
    left_ -= taken;
    to_pack_ -= taken;
    copies_->copy(target, source.data(), source.size(), taken);
    return adopt(share_, target, static_cast<std::int64_t>(size), stream_, mr_);
  }

  /// Allocates a block for the buffers that are not packed yet. An array owns it.
  void start_block()
  {
    left_                   = std::min(to_pack_, most_of_block);
    auto const tree         = std::make_shared<array_tree>();
    tree->location          = current_location();
    tree->is_freed_in_order = true;
    auto& memory            = tree->conversions.emplace_back(left_, stream_, mr_);
    block_                  = static_cast<std::byte*>(memory.data());
    tree->record_ready(stream_);
    tree->nodes[tree->add_nodes(1)] = {};
    auto array                      = array_tree::to_arrow(tree, 0);
    share_                          = foreign_array::own(array.get(), false, stream_);
  }

  std::vector<host_level>::const_iterator next_;
  cuda::stream_ref stream_;
  rmm::device_async_resource_ref mr_;
  std::unique_ptr<host_upload> copies_;
  std::shared_ptr<foreign_array> share_;  ///< of the newest block
  std::byte* block_{nullptr};             ///< its unused bytes
  std::size_t left_{0};                   ///< number of these
  std::size_t to_pack_{0};                ///< bytes of the buffers that are not packed yet
  std::size_t total_{0};                  ///< bytes of all buffers
};

/// The private data of a selection: the whole array, and pointers to some of its children.
struct selected_children {
  unique_array whole;
  std::vector<ArrowArray*> children;

  static void release(ArrowArray* selection) noexcept
  {
    selection->release = nullptr;
    delete static_cast<selected_children*>(selection->private_data);
  }
};

}  // namespace

source_array open_source(import_call const& call)
{
  auto* const array    = call.array;
  auto const stream    = call.stream;
  auto const mr        = call.mr;
  auto const location  = location_of(*array);
  auto const on_host   = location.device_type == ARROW_DEVICE_CPU;
  auto const current   = current_location();
  auto const to_upload = on_host && has_gpu();
  auto const copy_all  = call.options.copy == copy_policy::always;
  if (is_far(location, current) && !copy_all) {
    throw std::invalid_argument{"expected memory of the current device " +
                                std::to_string(current.device_id) + ", got " + to_string(location) +
                                ": import it with copy=True, or make its device current"};
  }
  if (to_upload && call.options.copy == copy_policy::never) {
    throw std::invalid_argument{"copy=False: the data is in CPU memory, not in " +
                                to_string(current) + ": copy=None uploads it"};
  }
  if (!on_host || to_upload) {
    require_no_capture(stream);
    // Free the memory of earlier imports before more is held.
    finish_ready_releases();
  }
  if (!on_host) {
    wait_for_producer(*array, stream);
    if (call.options.validate == validation::full) { validate_copy(call, location, current); }
  }
  auto const exec = execution{on_host, stream, on_host ? resource_at(location, mr) : mr};
  auto const root = array->array;  // copied first, because the struct is moved below
  auto share      = foreign_array::own(array, on_host, stream);
  if (!copy_all || to_upload) { return {root, std::move(share), exec, to_upload}; }

  auto const tree = copy_tree(*view_tree(call.types, root, location), 0, current, stream, mr);
  if (!on_host) { tree->record_ready(stream); }
  tree->is_freed_in_order = true;
  auto copy               = array_tree::to_arrow(tree, 0);
  auto const copied_root  = copy->array;
  return {copied_root, foreign_array::own(copy.get(), on_host, stream), exec, false};
}

void upload(std::span<imported_column> columns,
            cuda::stream_ref stream,
            rmm::device_async_resource_ref mr)
{
  auto levels = std::vector<host_level>{};
  for (auto& column : columns) { add_levels(levels, std::move(column.storage)); }
  auto all = uploader{levels, stream, mr};
  for (auto& column : columns) { column.storage = all.column(); }
  all.finish();
}

}  // namespace cudf_arrow_bridge::detail

namespace cudf_arrow_bridge {
bool can_share(std::span<cudf::column_view const> columns)
{
  auto const location = detail::locate_columns(columns);
  auto const current  = detail::current_location();
  if (location.device_type == ARROW_DEVICE_CPU) { return current == location; }
  return !detail::is_far(location, current);
}

void select_children(ArrowSchema const& schema,
                     ArrowDeviceArray* array,
                     std::vector<std::size_t> const& positions)
{
  auto& root = array->array;
  detail::check_counterpart(schema, root, column_path{});
  auto selected = std::make_unique<detail::selected_children>();
  selected->children.reserve(positions.size());
  for (auto const position : positions) { selected->children.push_back(root.children[position]); }
  auto result         = root;
  result.n_children   = std::ssize(positions);
  result.children     = selected->children.data();
  result.release      = &detail::selected_children::release;
  selected->whole     = unique_array{&root};
  result.private_data = selected.release();
  root                = result;
}

}  // namespace cudf_arrow_bridge
