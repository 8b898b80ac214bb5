// SPDX-License-Identifier: Apache-2.0
#include "arrays/array_tree.hpp"
#include "arrays/foreign_array.hpp"
#include "base/nvtx.hpp"
#include "base/parsed_type.hpp"
#include "compute/buffers.hpp"
#include "cuda/location/location.hpp"
#include "cuda/ordering/captures.hpp"
#include "import/column_importer.hpp"
#include "tensor/element_type.hpp"

#include <cudf_arrow_bridge/ordering.hpp>
#include <cudf_arrow_bridge/tensor.hpp>

#include <cudf/utilities/error.hpp>

#include <rmm/cuda_device.hpp>
#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace cudf_arrow_bridge {
namespace {

using detail::element_type;

memory_location location_of(ArrowDeviceArray const& array)
{ return {array.device_type, array.device_id}; }

bool is_host(memory_location const& location) { return location.device_type == ARROW_DEVICE_CPU; }

cudaEvent_t const* event_of(ArrowDeviceArray const& array)
{ return static_cast<cudaEvent_t const*>(array.sync_event); }

void wait_on(cuda::stream_ref stream, ArrowDeviceArray const& array)
{
  if (event_of(array) == nullptr) { return; }
  detail::require_no_capture(stream);
  RMM_CUDA_TRY(cudaStreamWaitEvent(stream.get(), *event_of(array)));
}

/// Names the column for which the tensor of a table fails.
std::string prefix(ArrowSchema const& schema, bool is_field)
{
  return is_field ? "column '" + std::string{schema.name == nullptr ? "" : schema.name} + "': "
                  : std::string{};
}

element_type const& number_type(ArrowSchema const& schema, bool is_field)
{
  auto const& row   = *detail::parse_type(schema).row;
  auto const* found = schema.dictionary == nullptr ? detail::find_element(schema.format) : nullptr;
  if (found == nullptr) {
    auto const why = row.column == cudf::type_id::BOOL8
                       ? ": its bools are bits, which tensors do not share"
                       : ": export single buffers of it instead";
    throw cudf::data_type_error{prefix(schema, is_field) +
                                "expected numbers for a tensor, got the Arrow type '" +
                                std::string{row.arrow} + "'" + why};
  }
  return *found;
}

/// Columns of numbers of one type, in memory of one kind.
struct number_columns {
  memory_location location;
  std::int64_t rows;
  element_type const* type{nullptr};
  std::vector<std::byte const*> data{};  ///< the first row of each

  [[nodiscard]] bool is_on_host() const { return is_host(location); }

  /// Bytes of one column.
  [[nodiscard]] std::size_t size() const
  { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(type->bits) / 8; }

  /// Whether columns are adjacent in memory, like those of a Fortran-ordered matrix.
  [[nodiscard]] bool are_adjacent() const
  {
    for (std::size_t i = 1; rows > 0 && i < data.size(); ++i) {
      if (data[i] != data[i - 1] + size()) { return false; }
    }
    return true;
  }
};

/// Reads arrays as tensors, on a stream that waits for them if necessary.
class tensor_reader {
 public:
  tensor_reader(ArrowDeviceArray const& array,
                cuda::stream_ref stream,
                rmm::device_async_resource_ref mr)
    : array_{array}, exec_{is_host(location_of(array)), stream, mr}
  {
  }

  [[nodiscard]] number_columns columns(ArrowSchema const& schema) const
  {
    auto const& root = array_.array;
    auto result      = number_columns{location_of(array_), root.length};
    if (!is_table(schema)) {
      add(result, schema, root, 0, false);
      return result;
    }
    check_no_nulls(schema, root, 0, root.length, false);
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
      add(result, *schema.children[i], *root.children[i], root.offset, true);
    }
    if (result.data.empty()) {
      throw cudf::data_type_error{"expected at least one column for a tensor, got none"};
    }
    return result;
  }

  static bool is_table(ArrowSchema const& schema)
  { return std::string_view{schema.format} == "+s"; }

 private:
  /// Adds a column, from row `begin` without its own offset.
  void add(number_columns& result,
           ArrowSchema const& schema,
           ArrowArray const& array,
           std::int64_t begin,
           bool is_field) const
  {
    auto const& type = number_type(schema, is_field);
    auto const* data = static_cast<std::byte const*>(array.buffers[1]);
    auto const first = (array.offset + begin) * type.bits / 8;
    check_no_nulls(schema, array, begin, result.rows, is_field);
    if (result.type == nullptr) { result.type = &type; }
    if (result.type != &type) {
      throw cudf::data_type_error{prefix(schema, true) + "expected " +
                                  std::string{result.type->name} +
                                  ", the type of the first column, got " + std::string{type.name} +
                                  ": a tensor has one type"};
    }
    result.data.push_back(result.rows == 0 ? nullptr : data + first);
  }

  void check_no_nulls(ArrowSchema const& schema,
                      ArrowArray const& array,
                      std::int64_t begin,
                      std::int64_t size,
                      bool is_field) const
  {
    if (size == 0 || !detail::has_mask(array)) { return; }
    auto nulls = array.null_count;
    if (nulls < 0 || size != array.length) {
      if (!exec_.host) { wait_on(exec_.stream, array_); }
      nulls = detail::count_nulls({array.buffers[0], array.offset + begin, size}, exec_);
    }
    if (nulls > 0) {
      throw cudf::data_type_error{prefix(schema, is_field) + "expected no nulls, got " +
                                  std::to_string(nulls) + ": a tensor has no validity bitmap"};
    }
  }

  ArrowDeviceArray const& array_;
  detail::execution exec_;
};

/// Memory for a copy of columns, on their device.
rmm::device_buffer allocate_copy(number_columns const& columns,
                                 cuda::stream_ref stream,
                                 rmm::device_async_resource_ref mr)
{
  auto const host = columns.is_on_host();
  auto copy       = rmm::device_buffer{
    columns.size() * columns.data.size(), stream, host ? detail::resource_of_host(mr) : mr};
  auto const found = host || copy.size() == 0 ? columns.location : locate(copy.data());
  if (found != columns.location) {
    throw cudf::data_type_error{"expected a memory resource for a copy in " +
                                to_string(columns.location) + ", got one for " + to_string(found)};
  }
  return copy;
}

/// Copies columns, one after another.
unique_device_array copy_columns(number_columns const& columns,
                                 ArrowDeviceArray const& source,
                                 rmm::device_buffer memory,
                                 std::shared_ptr<void const> owner,
                                 cuda::stream_ref stream)
{
  auto const host = columns.is_on_host();
  auto const size = columns.size();
  auto tree       = std::make_shared<detail::array_tree>();
  tree->owner     = std::move(owner);
  tree->location  = columns.location;
  auto& copy      = tree->conversions.emplace_back(std::move(memory));
  if (!host) { wait_on(stream, source); }
  auto* target = static_cast<std::byte*>(copy.data());
  for (auto const* column : columns.data) {
    if (size == 0) { break; }
    if (host) {
      std::memcpy(target, column, size);
    } else {
      RMM_CUDA_TRY(cudaMemcpyAsync(target, column, size, cudaMemcpyDefault, stream.get()));
    }
    target += size;
  }
  if (!host) { tree->record_ready(stream); }
  auto& node = tree->nodes[tree->add_nodes(1)] = {};
  node.layout                                  = detail::array_layout::fixed;
  node.length                                  = columns.rows * std::ssize(columns.data);
  node.buffers[1]                              = copy.data();
  node.per_row                                 = columns.type->bits;
  return detail::array_tree::to_arrow(tree, 0);
}

/// The element type of one buffer, without its meaning; null if tensors have no such type.
element_type const* stored_type(ArrowSchema const& schema, std::size_t index, std::size_t count)
{
  using detail::array_layout;
  auto const type    = detail::parse_type(schema);
  auto const integer = [](std::int64_t bits) {
    return detail::find_element(element_kind::integer, bits);
  };
  auto const* bytes = detail::find_element(element_kind::unsigned_integer, 8);
  if (index == 0) { return bytes; }
  switch (type.layout) {
    case array_layout::fixed: {
      auto const is_bytes = type.column.id() == cudf::type_id::LIST;  // of a fixed size
      if (is_bytes || type.column.id() == cudf::type_id::BOOL8) { return bytes; }
      auto const* number = detail::find_element(schema.format);  // of a dictionary: its indices
      return number != nullptr ? number : integer(type.element_bits);
    }
    case array_layout::views:
      if (index == 1) { return nullptr; }
      return index + 1 == count ? integer(64) : bytes;
    case array_layout::string32:
    case array_layout::string64:
      if (index == 2) { return bytes; }
      [[fallthrough]];
    default: return integer(detail::offset_width(type.layout) * 8);
  }
}

}  // namespace

shared_tensor::shared_tensor(tensor_view view, unique_device_array&& memory, bool is_copy)
  : view_{std::move(view)},
    memory_{std::make_shared<unique_device_array const>(std::move(memory))},
    is_copy_{is_copy}
{
}

void shared_tensor::make_wait(cuda::stream_ref stream) const
{
  auto const guard = detail::guard_device(view_.location);
  wait_on(stream, *memory_->get());
}

void shared_tensor::release_after(cuda::stream_ref freed, cuda::stream_ref reader)
{
  auto const guard = detail::guard_device(view_.location);
  memory_          = {cudf_arrow_bridge::release_after(memory_, freed, reader), memory_.get()};
}

void shared_tensor::wait() const
{
  if (event_of(*memory_->get()) != nullptr) {
    auto const relaxed = detail::relaxed_captures{};
    RMM_CUDA_TRY(cudaEventSynchronize(*event_of(*memory_->get())));
  }
}

shared_tensor to_tensor(ArrowSchema const& schema,
                        ArrowDeviceArray* array,
                        copy_policy policy,
                        std::shared_ptr<void const> owner,
                        cuda::stream_ref stream,
                        rmm::device_async_resource_ref mr)
{
  detail::nvtx_range const range{__func__};
  auto const location = location_of(*array);
  auto const to       = detail::resource_on_device(location, mr);
  auto const guard    = detail::guard_device(location);
  auto const columns  = tensor_reader{*array, stream, to}.columns(schema);
  auto const& type    = *columns.type;
  auto view =
    tensor_view{columns.data.front(), location, type.kind, type.bits, {columns.rows}, {1}};
  if (tensor_reader::is_table(schema)) {
    view.shape.push_back(std::ssize(columns.data));
    view.strides.push_back(columns.rows);
  }
  if (columns.are_adjacent() && policy != copy_policy::always) {
    return {std::move(view), unique_device_array{array}, false};
  }
  if (policy == copy_policy::never) {
    throw cudf::data_type_error{
      "copy=False: expected columns at equal distances in memory for a tensor of two dimensions, "
      "got columns that have to be copied"};
  }
  // Before ownership of the array is taken: if this fails, the caller keeps it.
  if (!is_host(location)) { detail::require_no_capture(stream); }
  auto memory = allocate_copy(columns, stream, to);
  // Copies may still be reading the source when this returns.
  auto const source = detail::foreign_share{array, is_host(location), stream};
  auto copy         = copy_columns(columns, *array, std::move(memory), std::move(owner), stream);
  view.data         = copy->array.buffers[1];
  return {std::move(view), std::move(copy), true};
}

shared_tensor buffer_tensor(ArrowSchema const& schema,
                            ArrowDeviceArray* array,
                            std::size_t index,
                            std::int64_t size)
{
  detail::nvtx_range const range{__func__};
  auto const count = static_cast<std::size_t>(array->array.n_buffers);
  if (index >= count) {
    throw std::out_of_range{"expected the index of one of " + std::to_string(count) +
                            " buffers, got " + std::to_string(index)};
  }
  auto const* type = stored_type(schema, index, count);
  if (type == nullptr) {
    throw cudf::data_type_error{
      "expected elements of at most 64 bits for a tensor, got the Arrow type '" +
      std::string{detail::parse_type(schema).row->arrow} + "'"};
  }
  auto const* data = size == 0 ? nullptr : array->array.buffers[index];
  auto view =
    tensor_view{data, location_of(*array), type->kind, type->bits, {size * 8 / type->bits}, {1}};
  return {std::move(view), unique_device_array{array}, false};
}

}  // namespace cudf_arrow_bridge
