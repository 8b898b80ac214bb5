// SPDX-License-Identifier: Apache-2.0
#include "arrays/array_tree.hpp"
#include "base/nvtx.hpp"
#include "compute/buffers.hpp"
#include "cuda/location/location.hpp"
#include "schema/schema_tree.hpp"
#include "tensor/element_type.hpp"
#include "validate/validate.hpp"

#include <cudf_arrow_bridge/tensor.hpp>

#include <cudf/column/column.hpp>
#include <cudf/utilities/error.hpp>

#include <nanoarrow/nanoarrow.hpp>

#include <cstdlib>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge {
namespace {

using detail::element_type;

constexpr std::int64_t max_columns = detail::max_levels - 1;  ///< below the table's own level

/// The elements of a tensor.
struct tensor_layout {
  element_type const* type;
  tensor_kind kind;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::int64_t elements;   ///< number of elements
  std::int64_t list_size;  ///< number of elements of a row
  std::int64_t lowest;     ///< position of the element at the lowest address
  std::int64_t span;       ///< number of elements from there to the highest address

  [[nodiscard]] std::int64_t rows() const { return shape[0]; }

  [[nodiscard]] bool is_table() const { return kind == tensor_kind::table && shape.size() == 2; }

  [[nodiscard]] bool is_lists() const { return kind == tensor_kind::column && shape.size() > 1; }

  [[nodiscard]] std::int64_t columns() const { return is_table() ? shape[1] : 1; }

  /// Whether each column is a contiguous, separate piece of memory.
  [[nodiscard]] bool is_contiguous() const
  {
    if (elements == 0) { return true; }
    if (is_table()) {
      auto const apart = columns() == 1 || std::abs(strides[1]) >= rows();
      return (strides[0] == 1 || rows() == 1) && apart;
    }
    auto step = std::int64_t{1};
    for (auto i = shape.size(); i-- > 0; step *= shape[i]) {
      if (shape[i] != 1 && strides[i] != step) { return false; }
    }
    return true;
  }
};

void check_size(std::int64_t found, std::int64_t most, std::string const& what)
{
  if (found > most) {
    throw std::overflow_error{"expected a tensor of at most " + std::to_string(most) + " " + what +
                              ", got " + std::to_string(found) + ": import it in parts"};
  }
}

/// The product of extents, or the maximum if it is greater.
std::int64_t product(std::span<std::int64_t const> extents)
{
  auto result = std::int64_t{1};
  for (auto const extent : extents) {
    if (__builtin_mul_overflow(result, extent, &result)) {
      result = std::numeric_limits<std::int64_t>::max();
    }
  }
  return result;
}

tensor_layout layout_of(tensor_view const& tensor, tensor_kind kind)
{
  auto const ndim = tensor.shape.size();
  auto const most = kind == tensor_kind::table ? 2 : std::size_t{detail::max_dimensions};
  if (ndim < 1 || ndim > most) {
    throw std::invalid_argument{"expected a tensor of 1 dimension (a column) or 2 (a table), got " +
                                std::to_string(ndim) +
                                (ndim > 2 ? ": import it with kind=\"column\", as lists" : "")};
  }
  if (tensor.strides.size() != ndim) {
    throw std::invalid_argument{"expected " + std::to_string(ndim) +
                                " strides, one for each dimension, got " +
                                std::to_string(tensor.strides.size())};
  }
  for (auto const extent : tensor.shape) {
    if (extent < 0) {
      throw std::invalid_argument{"expected a shape with at least 0 elements, got " +
                                  std::to_string(extent)};
    }
  }
  auto const* type = detail::find_element(tensor.kind, tensor.bits);
  if (type == nullptr) {
    throw cudf::data_type_error{"expected elements that are numbers, got kind " +
                                std::to_string(static_cast<int>(tensor.kind)) + " and " +
                                std::to_string(tensor.bits) + " bits"};
  }
  auto const elements = product(tensor.shape);
  auto const of_row   = product(std::span{tensor.shape}.subspan(1));
  auto layout = tensor_layout{type, kind, tensor.shape, tensor.strides, elements, of_row, 0, 0};
  check_size(layout.rows(), detail::max_rows, "rows");
  check_size(layout.columns(), max_columns, "columns");
  if (layout.is_lists()) {
    check_size(layout.list_size, detail::max_rows, "elements in a row");
    check_size(elements, detail::max_rows, "elements");
  }
  if (elements == 0) { return layout; }
  if (tensor.data == nullptr) {
    throw std::invalid_argument{"the data pointer of the tensor is null"};
  }
  // The checks above limit all extents to 32 bits, so 128 bits are enough. Addresses of processes
  // do not have the highest bit, so that the distance of two elements fits into 64 bits.
  auto const address = __int128_t{reinterpret_cast<std::uintptr_t>(tensor.data)};
  auto const width   = __int128_t{type->bits / 8};
  auto lowest        = __int128_t{0};
  auto highest       = __int128_t{0};
  for (std::size_t i = 0; i < ndim; ++i) {
    auto const last = __int128_t{layout.shape[i] - 1} * layout.strides[i];
    (last < 0 ? lowest : highest) += last;
    if (address + lowest * width < 0 ||
        address + (highest + 1) * width > std::numeric_limits<std::int64_t>::max()) {
      throw std::invalid_argument{
        "the elements do not fit into an address space: " + std::to_string(layout.shape[i]) +
        " at a distance of " + std::to_string(layout.strides[i])};
    }
  }
  layout.lowest = static_cast<std::int64_t>(lowest);
  layout.span   = static_cast<std::int64_t>(highest - lowest + 1);
  return layout;
}

/// Columns of numbers in Arrow's layout, for the common import.
struct described_columns {
  unique_schema schema{};
  unique_device_array array{};
};

/**
 * @brief Describes a column, or a table whose columns are named by their positions.
 *
 * @param type Type of the elements
 * @param data First element of each column; null if there is none
 * @param rows Rows of each column
 * @param tree Receives the nodes; has the owner, the location and the event of the memory
 */
described_columns describe(element_type const& type,
                           std::vector<void const*> const& data,
                           std::int64_t rows,
                           bool is_table,
                           std::shared_ptr<detail::array_tree> const& tree)
{
  auto result        = described_columns{};
  auto* const schema = result.schema.get();
  ArrowSchemaInit(schema);
  auto& root = tree->nodes[tree->add_nodes(1)];
  if (is_table) {
    detail::set_type(*schema, "+s", std::ssize(data));
    root.layout       = detail::array_layout::validity;
    root.length       = rows;
    root.num_children = data.size();
    root.first_child  = tree->add_nodes(data.size());
  }
  for (std::size_t i = 0; i < data.size(); ++i) {
    auto& field = is_table ? *schema->children[i] : *schema;
    detail::set_type(field, type.format, 0);
    if (is_table) { detail::set_name(field, std::to_string(i)); }
    if (type.kind == element_kind::boolean) {
      detail::set_metadata(field,
                           {{detail::extension_keys.front(), std::string{detail::bool8_name}}});
    }
    (is_table ? tree->nodes[i + 1] : root) = detail::number_node(type, data[i], rows);
  }
  result.array = detail::array_tree::to_arrow(tree, 0);
  return result;
}

/// Records the work that the producer has enqueued, which the import waits for.
detail::pooled_event record(cuda::stream_ref producer, memory_location const& location)
{
  auto const guard = detail::guard_device(location);
  auto event       = detail::pooled_event::acquire();
  // The protocol does not say which thread's default stream the producer means.
  auto const of_some_thread = producer.get() == cudaStreamPerThread;
  auto const status = event.record(of_some_thread ? cuda::stream_ref{cudaStreamLegacy} : producer);
  if (status != cudaSuccess) {
    (void)cudaGetLastError();
    throw std::invalid_argument{std::string{"CUDA rejects the stream of the tensor's producer: "} +
                                cudaGetErrorString(status)};
  }
  return event;
}

/// The strides of elements, with neighboring dimensions merged where one stride covers them.
detail::strided_values merged(cudf::column_view const& values, tensor_layout const& layout)
{
  auto result = detail::strided_values{values, -layout.lowest, {}, {}};
  for (std::size_t i = 0; i < layout.shape.size(); ++i) {
    auto const extent = layout.shape[i];
    auto const stride = layout.strides[i];
    if (i > 0 && result.strides.back() == stride * extent) {
      result.shape.back() *= extent;
      result.strides.back() = stride;
    } else {
      result.shape.push_back(extent);
      result.strides.push_back(stride);
    }
  }
  return result;
}

std::unique_ptr<cudf::column> gather(detail::strided_values const& range,
                                     detail::execution const& exec)
{
  auto data = detail::gather_strided(range, exec);
  return detail::make_column(range.values.type(), range.size(), std::move(data), exec);
}

/// A LIST column with a list for each row of a tensor.
std::unique_ptr<cudf::column> lists_of(std::unique_ptr<cudf::column> elements,
                                       tensor_layout const& layout,
                                       detail::execution const& exec)
{
  auto const size     = static_cast<std::int32_t>(layout.list_size);
  auto const count    = layout.rows() + 1;
  auto const int32    = cudf::data_type{cudf::type_id::INT32};
  auto const no_bytes = [&] { return rmm::device_buffer{0, exec.stream, exec.mr}; };
  auto children       = std::vector<std::unique_ptr<cudf::column>>{};
  children.push_back(detail::make_column(int32, count, detail::count_up(count, size, exec), exec));
  children.push_back(std::move(elements));
  return std::make_unique<cudf::column>(cudf::data_type{cudf::type_id::LIST},
                                        static_cast<cudf::size_type>(layout.rows()),
                                        no_bytes(),
                                        no_bytes(),
                                        0,
                                        std::move(children));
}

/// @param tree Owner, location and event of the memory
imported_table import_columns(tensor_view const& tensor,
                              tensor_layout const& layout,
                              std::shared_ptr<detail::array_tree> const& tree,
                              import_options const& options,
                              cuda::stream_ref stream,
                              rmm::device_async_resource_ref mr)
{
  // The strides of a tensor without elements are not checked, so no position is computed.
  auto const is_empty   = layout.elements == 0;
  auto const address_of = [&](std::int64_t position) {
    return is_empty
             ? nullptr
             : static_cast<std::byte const*>(tensor.data) + position * (layout.type->bits / 8);
  };
  auto const first_of = [&](std::int64_t i) {
    return i == 0 || is_empty ? 0 : i * layout.strides[1];
  };
  if (layout.is_contiguous() && layout.is_table()) {
    auto data = std::vector<void const*>{};
    for (std::int64_t i = 0; i < layout.columns(); ++i) { data.push_back(address_of(first_of(i))); }
    auto columns = describe(*layout.type, data, layout.rows(), true, tree);
    return from_arrow_device_table(*columns.schema.get(), columns.array.get(), options, stream, mr);
  }
  auto result    = imported_table{{}, static_cast<cudf::size_type>(layout.rows())};
  auto const add = [&](std::unique_ptr<cudf::column> column) {
    result.columns.push_back({std::move(column), 0, result.num_rows});
  };
  if (layout.span > detail::max_rows) {
    throw std::overflow_error{"the columns span " + std::to_string(layout.span) +
                              " elements, more than " + std::to_string(detail::max_rows) +
                              ": import it in parts, or make it contiguous"};
  }
  auto const exec = detail::execution{!has_gpu(), stream, mr};
  // All elements from the lowest address on, as one column.
  auto span  = describe(*layout.type, {address_of(layout.lowest)}, layout.span, false, tree);
  auto whole = from_arrow_device_column(*span.schema.get(), span.array.get(), options, stream, mr);
  auto const values = whole.view();
  if (layout.is_contiguous()) {
    add(layout.is_lists() ? lists_of(std::move(whole.storage), layout, exec)
                          : std::move(whole.storage));
  } else if (layout.is_lists()) {
    add(lists_of(gather(merged(values, layout), exec), layout, exec));
  } else {
    for (std::int64_t i = 0; i < layout.columns(); ++i) {
      auto const begin = first_of(i) - layout.lowest;
      add(gather({values, begin, {layout.rows()}, {layout.strides[0]}}, exec));
    }
  }
  return result;
}

}  // namespace

imported_tensor from_tensor(tensor_view const& tensor,
                            std::shared_ptr<void const> owner,
                            std::optional<cuda::stream_ref> producer,
                            copy_policy policy,
                            cuda::stream_ref stream,
                            rmm::device_async_resource_ref mr,
                            tensor_kind kind)
{
  detail::nvtx_range const range{__func__};
  auto const layout = layout_of(tensor, kind);
  // The import below rejects copies for other reasons.
  if (policy == copy_policy::never && !layout.is_contiguous()) {
    throw std::invalid_argument{
      "copy=False: the tensor in " + to_string(tensor.location) + " has to be copied, since " +
      (layout.is_lists() ? "its elements are not in row-major (C) order"
                         : "a column's elements do not follow one another") +
      "; copy=None copies it"};
  }
  // Bools of tensors are 0 or 1 by DLPack and NumPy, so device memory is not searched for others.
  auto const options = import_options{.copy = policy, .sanitize = false};
  auto const tree    = std::make_shared<detail::array_tree>();
  tree->owner        = std::move(owner);
  tree->location     = tensor.location;
  if (producer && has_gpu()) { tree->ready = record(*producer, tensor.location); }
  return {import_columns(tensor, layout, tree, options, stream, mr), layout.is_table()};
}

}  // namespace cudf_arrow_bridge
