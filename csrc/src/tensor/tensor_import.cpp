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

#include <rmm/detail/error.hpp>

#include <nanoarrow/nanoarrow.hpp>

#include <algorithm>
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

/// Positions further from the first element than this overflow as addresses. The sum of those of
/// all dimensions does not overflow.
constexpr std::int64_t max_reach = std::numeric_limits<std::int64_t>::max() / 128;

/// The elements of a tensor.
struct tensor_layout {
  element_type const* type;
  tensor_kind kind;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::int64_t elements;   ///< number of elements, at most `max_reach`
  std::int64_t list_size;  ///< number of elements of a row, at most `max_reach`
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

/// Adds the position of the last element along one dimension to the lowest or the highest position.
void reach(std::int64_t extent, std::int64_t stride, std::int64_t& lowest, std::int64_t& highest)
{
  auto last = std::int64_t{0};
  if (__builtin_mul_overflow(extent - 1, stride, &last) || last > max_reach || last < -max_reach) {
    throw std::invalid_argument{
      "the elements do not fit into an address space: " + std::to_string(extent) +
      " at a distance of " + std::to_string(stride)};
  }
  (last < 0 ? lowest : highest) += last;
}

/// Memory lies within the address space.
void check_addresses(void const* data, tensor_layout const& layout)
{
  auto const width = __int128_t{layout.type->bits / 8};
  auto const first = __int128_t{reinterpret_cast<std::uintptr_t>(data)} + layout.lowest * width;
  if (first < 0 || first + layout.span * width > std::numeric_limits<std::uintptr_t>::max()) {
    throw std::invalid_argument{
      "the elements do not fit into an address space: " + std::to_string(layout.span) +
      " from element " + std::to_string(layout.lowest)};
  }
}

void check_size(std::int64_t found, std::int64_t most, std::string const& what)
{
  if (found > most) {
    throw std::overflow_error{"expected a tensor of at most " + std::to_string(most) + " " + what +
                              ", got " + std::to_string(found) + ": import it in parts"};
  }
}

/// The product of extents, at most `max_reach`.
std::int64_t product(std::span<std::int64_t const> extents)
{
  auto result = std::int64_t{1};
  for (auto const extent : extents) {
    if (__builtin_mul_overflow(result, extent, &result)) { result = max_reach; }
  }
  return std::min(result, max_reach);
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
  auto highest = std::int64_t{0};
  for (std::size_t i = 0; i < ndim; ++i) {
    reach(layout.shape[i], layout.strides[i], layout.lowest, highest);
  }
  layout.span = highest - layout.lowest + 1;
  check_addresses(tensor.data, layout);
  return layout;
}

/// The schema of a table, whose columns are named by their positions, or of a column.
unique_schema schema_of(tensor_layout const& layout)
{
  unique_schema schema;
  ArrowSchemaInit(schema.get());
  auto const set_element = [&](ArrowSchema& element) {
    detail::set_type(element, layout.type->format, 0);
    if (layout.type->kind == element_kind::boolean) {
      detail::set_metadata(element,
                           {{detail::extension_keys.front(), std::string{detail::bool8_name}}});
    }
  };
  if (layout.is_table()) {
    detail::set_type(*schema.get(), "+s", layout.columns());
    for (std::int64_t i = 0; i < layout.columns(); ++i) {
      set_element(*schema->children[i]);
      detail::set_name(*schema->children[i], std::to_string(i));
    }
  } else {
    set_element(*schema.get());
  }
  return schema;
}

/// The array of a tensor, for the common import.
class tensor_array {
 public:
  tensor_array(tensor_view const& tensor,
               tensor_layout const& layout,
               std::shared_ptr<void const> owner,
               std::optional<cuda::stream_ref> producer)
    : layout_{layout}, data_{static_cast<std::byte const*>(tensor.data)}
  {
    tree_->owner    = std::move(owner);
    tree_->location = tensor.location;
    if (producer.has_value() && has_gpu()) { record(*producer); }
  }

  /// The columns of a table, if each is a contiguous piece of memory.
  unique_device_array columns()
  {
    if (layout_.is_table()) {
      auto& root        = add_node({});
      root.layout       = detail::array_layout::validity;
      root.length       = layout_.rows();
      root.first_child  = 1;
      root.num_children = static_cast<std::size_t>(layout_.columns());
    }
    for (std::int64_t i = 0; i < layout_.columns(); ++i) {
      auto const* first =
        layout_.elements == 0 ? nullptr : element(i == 0 ? 0 : i * layout_.strides[1]);
      add_node(detail::number_node(*layout_.type, first, layout_.rows()));
    }
    return detail::array_tree::to_arrow(tree_, 0);
  }

  /// The `span` elements from the lowest address on, as one column.
  unique_device_array whole(std::int64_t span)
  {
    add_node(
      detail::number_node(*layout_.type, span == 0 ? nullptr : element(layout_.lowest), span));
    return detail::array_tree::to_arrow(tree_, 0);
  }

 private:
  [[nodiscard]] std::byte const* element(std::int64_t position) const
  { return data_ + position * (layout_.type->bits / 8); }

  detail::array_node& add_node(detail::array_node const& node)
  { return tree_->nodes[tree_->add_nodes(1)] = node; }

  void record(cuda::stream_ref producer)
  {
    auto const guard = detail::guard_device(tree_->location);
    tree_->ready     = detail::pooled_event::acquire();
    // The protocol does not say which thread's default stream the producer means.
    auto const of_some_thread = producer.get() == cudaStreamPerThread;
    auto const status =
      tree_->ready.record(of_some_thread ? cuda::stream_ref{cudaStreamLegacy} : producer);
    if (status != cudaSuccess) {
      (void)cudaGetLastError();
      throw std::invalid_argument{
        std::string{"CUDA rejects the stream of the tensor's producer: "} +
        cudaGetErrorString(status)};
    }
  }

  tensor_layout const& layout_;
  std::byte const* data_;
  std::shared_ptr<detail::array_tree> tree_{std::make_shared<detail::array_tree>()};
};

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

imported_table import_columns(tensor_layout const& layout,
                              tensor_array&& array,
                              import_options const& options,
                              cuda::stream_ref stream,
                              rmm::device_async_resource_ref mr)
{
  if (layout.is_contiguous() && layout.is_table()) {
    return from_arrow_device_table(
      *schema_of(layout).get(), array.columns().get(), options, stream, mr);
  }
  auto result    = imported_table{{}, static_cast<cudf::size_type>(layout.rows())};
  auto const add = [&](std::unique_ptr<cudf::column> column) {
    result.columns.push_back({std::move(column), 0, result.num_rows});
  };
  auto const span = layout.is_contiguous() ? layout.elements : layout.span;
  if (span > detail::max_rows) {
    throw std::overflow_error{"the columns span " + std::to_string(span) + " elements, more than " +
                              std::to_string(detail::max_rows) +
                              ": import it in parts, or make it contiguous"};
  }
  auto const exec = detail::execution{!has_gpu(), stream, mr};
  auto const flat = tensor_layout{layout.type, tensor_kind::column, {span}, {1}, span, 1, 0, 0};
  auto whole =
    from_arrow_device_column(*schema_of(flat).get(), array.whole(span).get(), options, stream, mr);
  auto const values = whole.view();
  if (layout.is_contiguous()) {
    add(layout.is_lists() ? lists_of(std::move(whole.storage), layout, exec)
                          : std::move(whole.storage));
  } else if (layout.is_lists()) {
    add(lists_of(gather(merged(values, layout), exec), layout, exec));
  } else {
    for (std::int64_t i = 0; i < layout.columns(); ++i) {
      auto const begin = (i == 0 ? 0 : i * layout.strides[1]) - layout.lowest;
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
  return {import_columns(layout, {tensor, layout, std::move(owner), producer}, options, stream, mr),
          layout.is_table()};
}

}  // namespace cudf_arrow_bridge
