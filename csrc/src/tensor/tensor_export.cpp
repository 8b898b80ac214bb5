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

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

namespace cudf_arrow_bridge {
namespace {

using detail::element_type;
using detail::find_element;

memory_location location_of(ArrowDeviceArray const& array)
{ return {array.device_type, array.device_id}; }

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
  auto const type   = detail::parse_type(schema);
  auto const* found = schema.dictionary == nullptr ? find_element(type, schema.format) : nullptr;
  if (found == nullptr) {
    auto const* hint = type.row->column == cudf::type_id::BOOL8
                         ? ": its bools are bits; export it with the type bool8"
                         : ": export single buffers of it instead";
    throw cudf::data_type_error{prefix(schema, is_field) +
                                "a tensor needs numbers, and the Arrow type is '" +
                                std::string{type.row->arrow} + "'" + hint};
  }
  return *found;
}

/// Columns of numbers of one type, in memory of one kind.
struct number_columns {
  memory_location location;
  std::vector<std::int64_t> shape;  ///< of one column: rows, and for lists their lengths
  element_type const* type{nullptr};
  std::vector<void const*> data{};  ///< the first element of each

  [[nodiscard]] std::int64_t rows() const { return shape.front(); }

  /// Number of elements of one column.
  [[nodiscard]] std::int64_t elements() const
  { return std::reduce(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies{}); }

  /// Bytes of one column.
  [[nodiscard]] std::int64_t size() const { return elements() * type->bits / 8; }

  /// Whether columns are adjacent in memory, like those of a Fortran-ordered matrix.
  [[nodiscard]] bool are_adjacent() const
  {
    for (std::size_t i = 1; elements() > 0 && i < data.size(); ++i) {
      if (data[i] != static_cast<std::byte const*>(data[i - 1]) + size()) { return false; }
    }
    return true;
  }
};

/// A range of rows of an array, not counting its own offset.
struct number_rows {
  ArrowSchema const& schema;
  ArrowArray const& array;
  std::int64_t begin;
  std::int64_t size;

  [[nodiscard]] std::int64_t first() const { return array.offset + begin; }
};

/// Reads arrays as tensors, on a stream that waits for them if necessary.
class tensor_reader {
 public:
  tensor_reader(ArrowDeviceArray const& array, detail::execution const& exec)
    : array_{array}, exec_{exec}
  {
  }

  [[nodiscard]] number_columns columns(ArrowSchema const& schema) const
  {
    auto const& root = array_.array;
    auto const rows  = number_rows{schema, root, 0, root.length};
    auto result      = number_columns{location_of(array_), {root.length}};
    if (!is_table(schema)) {
      add_lists(result, rows);
      return result;
    }
    check_no_nulls(rows, false);
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
      add(result, {*schema.children[i], *root.children[i], root.offset, root.length}, true);
    }
    if (result.data.empty()) {
      throw cudf::data_type_error{"a table without columns is not a tensor"};
    }
    return result;
  }

  static bool is_table(ArrowSchema const& schema)
  { return std::string_view{schema.format} == "+s"; }

 private:
  /// Adds a column of numbers, or of lists of one length, which add dimensions.
  void add_lists(number_columns& result, number_rows const& rows) const
  {
    auto const type     = detail::parse_type(rows.schema);
    auto const has_ends = type.layout == detail::array_layout::offsets32 ||
                          type.layout == detail::array_layout::offsets64;
    auto const is_list  = has_ends || type.layout == detail::array_layout::fixed_lists;
    if (!is_list || type.row->arrow == "map") {
      add(result, rows, false);
      return;
    }
    check_no_nulls(rows, false);
    auto const& schema = *rows.schema.children[0];
    auto const& array  = *rows.array.children[0];
    auto ends          = detail::offset_ends{rows.first() * type.list_size,
                                             (rows.first() + rows.size) * type.list_size};
    if (has_ends) {
      ends = rows.size == 0 ? detail::offset_ends{0, 0}
                            : ends_of_equal_lists(rows, detail::offset_width(type.layout));
    }
    auto const size = ends.last - ends.first;
    result.shape.push_back(has_ends ? size / std::max<std::int64_t>(rows.size, 1) : type.list_size);
    add_lists(result, {schema, array, ends.first, size});
  }

  /// @return The first and last offset of lists of one length
  [[nodiscard]] detail::offset_ends ends_of_equal_lists(number_rows const& rows,
                                                        std::int64_t width) const
  {
    check_size(rows.size, "lists");
    auto const* offsets =
      static_cast<std::byte const*>(rows.array.buffers[1]) + rows.first() * width;
    auto const type    = width == 8 ? cudf::type_id::INT64 : cudf::type_id::INT32;
    auto const lengths = known_lengths(rows.array, {offsets, rows.size + 1, type});
    auto const size    = lengths.ends.last - lengths.ends.first;
    check_size(size, "list elements");
    // The differences of invalid offsets may be equal only in their low bits.
    if (lengths.least != lengths.greatest || __int128_t{lengths.least} * rows.size != size) {
      throw cudf::data_type_error{
        "the lists have " + std::to_string(lengths.least) + " to " +
        std::to_string(lengths.greatest) +
        " elements: a tensor needs lists of one length; export the elements and the buffer "
        "'offsets' instead"};
    }
    return lengths.ends;
  }

  /// Reads the lengths of lists once for all tensors of an export.
  [[nodiscard]] detail::list_lengths known_lengths(ArrowArray const& array,
                                                   detail::offset_range const& offsets) const
  {
    auto const* tree = detail::array_tree::tree_of(array);
    auto const lock =
      tree == nullptr ? std::unique_lock<std::mutex>{} : std::unique_lock{tree->sizes_mutex};
    auto const key = std::pair{offsets.first, offsets.count};
    if (tree != nullptr && tree->lengths.contains(key)) { return tree->lengths.at(key); }
    wait();
    auto const found = detail::read_lengths(offsets, exec_);
    if (tree != nullptr) { tree->lengths.emplace(key, found); }
    return found;
  }

  static void check_size(std::int64_t size, char const* unit)
  {
    if (size <= detail::max_rows) { return; }
    throw cudf::data_type_error{"expected at most " + std::to_string(detail::max_rows) + ' ' +
                                unit + " for a tensor, got " + std::to_string(size)};
  }

  void add(number_columns& result, number_rows const& rows, bool is_field) const
  {
    auto const& type = number_type(rows.schema, is_field);
    check_no_nulls(rows, is_field);
    if (result.type == nullptr) { result.type = &type; }
    if (result.type != &type) {
      throw cudf::data_type_error{prefix(rows.schema, true) + "expected " +
                                  std::string{result.type->name} +
                                  ", the type of the first column, got " + std::string{type.name} +
                                  ": a tensor has one type"};
    }
    auto const* data = static_cast<std::byte const*>(rows.array.buffers[1]);
    result.data.push_back(rows.size == 0 ? nullptr : data + rows.first() * type.bits / 8);
  }

  void check_no_nulls(number_rows const& rows, bool is_field) const
  {
    if (rows.size == 0 || !detail::has_mask(rows.array)) { return; }
    auto nulls = rows.array.null_count;
    if (nulls < 0 || rows.size != rows.array.length) {
      wait();
      nulls = detail::count_nulls({rows.array.buffers[0], rows.first(), rows.size}, exec_);
    }
    if (nulls > 0) {
      throw cudf::data_type_error{prefix(rows.schema, is_field) + "the number of nulls is " +
                                  std::to_string(nulls) +
                                  ": a tensor has no validity bitmap; fill them first"};
    }
  }

  /// Makes the stream wait for the array, before the first read of device memory.
  void wait() const
  {
    if (!exec_.host) { wait_on(exec_.stream, array_); }
  }

  ArrowDeviceArray const& array_;
  detail::execution const& exec_;
};

/// A resource may allocate on another device, where the copy does not belong.
void check_resource(number_columns const& columns, detail::execution const& exec)
{
  if (exec.host || columns.size() == 0) { return; }
  auto const probe = rmm::device_buffer{1, exec.stream, exec.mr};
  if (auto const found = locate(probe.data()); found != columns.location) {
    throw cudf::data_type_error{"the columns are in " + to_string(columns.location) +
                                ", and the memory resource allocates in " + to_string(found)};
  }
}

/// Copies columns, one after another or row by row.
unique_device_array copy_columns(number_columns const& columns,
                                 tensor_order order,
                                 ArrowDeviceArray const& source,
                                 std::shared_ptr<void const> owner,
                                 detail::execution const& exec)
{
  auto tree      = std::make_shared<detail::array_tree>();
  tree->owner    = std::move(owner);
  tree->location = columns.location;
  if (!exec.host) { wait_on(exec.stream, source); }
  auto const rows = static_cast<cudf::size_type>(columns.rows());
  auto& copy      = tree->conversions.emplace_back(
    detail::interleave(order == tensor_order::row_major
                         ? detail::plain_columns{columns.data, rows, columns.type->bits / 8}
                         : detail::plain_columns{columns.data, 1, columns.size()},
                       exec));
  if (!exec.host) { tree->record_ready(exec.stream); }
  auto const length               = columns.elements() * std::ssize(columns.data);
  tree->nodes[tree->add_nodes(1)] = detail::number_node(*columns.type, copy.data(), length);
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
      // Of a dictionary, these are its indices.
      if (auto const* number = find_element(type, schema.format)) { return number; }
      auto const is_bytes = type.column.id() == cudf::type_id::LIST;  // of a fixed size
      return is_bytes || type.column.id() == cudf::type_id::BOOL8 ? bytes
                                                                  : integer(type.element_bits);
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
                        rmm::device_async_resource_ref mr,
                        tensor_order order)
{
  detail::nvtx_range const range{__func__};
  auto const location = location_of(*array);
  auto const exec     = detail::execution{location, stream, mr};
  auto const guard    = detail::guard_device(location);
  auto const columns  = tensor_reader{*array, exec}.columns(schema);
  auto const& type    = *columns.type;
  auto view           = tensor_view{columns.data.front(),
                                    location,
                                    type.kind,
                                    type.bits,
                                    columns.shape,
                                    detail::row_major(columns.shape)};
  auto shares         = columns.are_adjacent();
  if (tensor_reader::is_table(schema)) {
    auto const count = std::ssize(columns.data);
    view.shape.push_back(count);
    if (order == tensor_order::row_major) {
      view.strides = detail::row_major(view.shape);
      shares       = count == 1 || columns.rows() == 0;
    } else {
      view.strides.push_back(columns.rows());
    }
  }
  if (shares && policy != copy_policy::always) {
    return {std::move(view), unique_device_array{array}, false};
  }
  if (policy == copy_policy::never) {
    throw cudf::data_type_error{
      "copy=False: the columns are not at equal distances in memory, so that a tensor of two "
      "dimensions needs a copy"};
  }
  // Before ownership of the array is taken: if this fails, the caller keeps it.
  if (!exec.host) { detail::require_no_capture(stream); }
  check_resource(columns, exec);
  // Copies may still be reading the source when this returns.
  auto const source = detail::foreign_array::own(array, exec.host, stream);
  auto copy         = copy_columns(columns, order, *array, std::move(owner), exec);
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
      "a tensor has elements of at most 64 bits, and the Arrow type is '" +
      std::string{detail::parse_type(schema).row->arrow} + "'"};
  }
  auto const* data = size == 0 ? nullptr : array->array.buffers[index];
  auto view =
    tensor_view{data, location_of(*array), type->kind, type->bits, {size * 8 / type->bits}, {1}};
  return {std::move(view), unique_device_array{array}, false};
}

}  // namespace cudf_arrow_bridge
