// SPDX-License-Identifier: Apache-2.0
#include "arrays/array_tree.hpp"
#include "base/nvtx.hpp"
#include "compute/buffers.hpp"
#include "cuda/location/location.hpp"
#include "schema/schema_structs.hpp"
#include "tensor/element_type.hpp"
#include "validate/validate.hpp"

#include <cudf_arrow_bridge/tensor.hpp>

#include <cudf/column/column.hpp>
#include <cudf/utilities/error.hpp>

#include <rmm/detail/error.hpp>

#include <nanoarrow/nanoarrow.hpp>

#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace cudf_arrow_bridge {
namespace {

using detail::element_type;

constexpr std::int64_t max_columns = detail::max_levels - 1;  ///< below the table's own level

/// Positions further from the first element than this overflow as addresses.
constexpr std::int64_t max_reach = std::numeric_limits<std::int64_t>::max() / 32;

/// The elements of a tensor as columns of `rows` elements at a distance of `row_stride`.
struct column_layout {
  element_type const* type;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t row_stride;
  std::int64_t column_stride;
  std::int64_t lowest;  ///< position of the element at the lowest address
  std::int64_t span;    ///< number of elements from there to the highest address

  [[nodiscard]] bool is_empty() const { return rows == 0 || columns == 0; }

  /// Whether each column is a contiguous, separate piece of memory.
  [[nodiscard]] bool is_contiguous() const
  {
    auto const apart = columns <= 1 || column_stride >= rows || column_stride <= -rows;
    return is_empty() || ((row_stride == 1 || rows == 1) && apart);
  }
};

/// Adds the position of the last element along one dimension to the lowest or the highest position.
void reach(std::int64_t extent, std::int64_t stride, std::int64_t& lowest, std::int64_t& highest)
{
  auto last = std::int64_t{0};
  if (__builtin_mul_overflow(extent - 1, stride, &last) || last > max_reach || last < -max_reach) {
    throw std::invalid_argument{"expected elements within an address space, got " +
                                std::to_string(extent) + " at a distance of " +
                                std::to_string(stride)};
  }
  (last < 0 ? lowest : highest) += last;
}

/// Memory lies within the address space.
void check_addresses(void const* data, column_layout const& layout)
{
  auto const width = __int128_t{layout.type->bits / 8};
  auto const first = __int128_t{reinterpret_cast<std::uintptr_t>(data)} + layout.lowest * width;
  if (first < 0 || first + layout.span * width > std::numeric_limits<std::uintptr_t>::max()) {
    throw std::invalid_argument{"expected elements within an address space, got " +
                                std::to_string(layout.span) + " from element " +
                                std::to_string(layout.lowest)};
  }
}

void check_size(std::int64_t found, std::int64_t most, std::string const& what)
{
  if (found > most) {
    throw std::overflow_error{"expected a tensor of at most " + std::to_string(most) + " " + what +
                              ", got " + std::to_string(found) + ": import it in parts"};
  }
}

column_layout layout_of(tensor_view const& tensor)
{
  auto const ndim = tensor.shape.size();
  if (ndim < 1 || ndim > 2) {
    throw std::invalid_argument{"expected a tensor of 1 dimension (a column) or 2 (a table), got " +
                                std::to_string(ndim)};
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
  auto const is_table = ndim == 2;
  auto layout         = column_layout{type,
                                      tensor.shape[0],
                                      is_table ? tensor.shape[1] : 1,
                                      tensor.strides[0],
                                      is_table ? tensor.strides[1] : 0,
                                      0,
                                      0};
  check_size(layout.rows, detail::max_rows, "rows");
  check_size(layout.columns, max_columns, "columns");
  if (layout.is_empty()) { return layout; }
  if (tensor.data == nullptr) {
    throw std::invalid_argument{"expected memory for a tensor with elements, got a null pointer"};
  }
  auto highest = std::int64_t{0};
  reach(layout.rows, layout.row_stride, layout.lowest, highest);
  reach(layout.columns, layout.column_stride, layout.lowest, highest);
  layout.span = highest - layout.lowest + 1;
  check_addresses(tensor.data, layout);
  return layout;
}

/// The schema of a table's columns, all of one type and named by their positions.
unique_schema schema_of_columns(element_type const& type, std::int64_t columns)
{
  unique_schema schema;
  ArrowSchemaInit(schema.get());
  detail::set_type(*schema.get(), "+s", columns);
  for (std::int64_t i = 0; i < columns; ++i) {
    detail::set_type(*schema->children[i], type.format, 0);
    detail::set_name(*schema->children[i], std::to_string(i));
  }
  return schema;
}

detail::array_node number_node(element_type const& type, void const* data, std::int64_t length)
{
  auto node       = detail::array_node{};
  node.layout     = detail::array_layout::fixed;
  node.length     = length;
  node.buffers[1] = data;
  node.per_row    = type.bits;
  return node;
}

/// The array of a tensor, for the common import.
class tensor_array {
 public:
  tensor_array(tensor_view const& tensor,
               column_layout const& layout,
               std::shared_ptr<void const> owner,
               std::optional<cuda::stream_ref> producer)
    : layout_{layout}, data_{static_cast<std::byte const*>(tensor.data)}
  {
    tree_->owner    = std::move(owner);
    tree_->location = tensor.location;
    if (producer.has_value() && has_gpu()) { record(*producer); }
  }

  /// The columns, if each is a contiguous piece of memory.
  unique_device_array columns(bool is_table)
  {
    if (is_table) {
      auto& root        = add_node({});
      root.layout       = detail::array_layout::validity;
      root.length       = layout_.rows;
      root.first_child  = 1;
      root.num_children = static_cast<std::size_t>(layout_.columns);
    }
    for (std::int64_t i = 0; i < layout_.columns; ++i) {
      auto const* first = layout_.rows == 0 ? nullptr : element(i * layout_.column_stride);
      add_node(number_node(*layout_.type, first, layout_.rows));
    }
    return detail::array_tree::to_arrow(tree_, 0);
  }

  /// All memory from the lowest to the highest address, as one column.
  unique_device_array whole()
  {
    add_node(number_node(*layout_.type, element(layout_.lowest), layout_.span));
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

  column_layout const& layout_;
  std::byte const* data_;
  std::shared_ptr<detail::array_tree> tree_{std::make_shared<detail::array_tree>()};
};

/// The reason why the elements of a tensor have to be copied to columns; empty if they can be
/// shared.
std::optional<std::string> reason_to_copy(tensor_view const& tensor, column_layout const& layout)
{
  if (layout.is_empty()) { return std::nullopt; }
  auto const width = static_cast<std::uintptr_t>(layout.type->bits / 8);
  if (!layout.is_contiguous()) { return "a column's elements do not follow one another"; }
  if (layout.type->kind == element_kind::floating && layout.type->bits == 16) {
    return "libcudf has no floats of 16 bits";
  }
  if (reinterpret_cast<std::uintptr_t>(tensor.data) % width != 0) {
    return "its address is not aligned to the " + std::to_string(width) + " bytes of an element";
  }
  if (tensor.location.device_type == ARROW_DEVICE_CPU && has_gpu()) {
    return "columns of it belong on the GPU";
  }
  return std::nullopt;
}

/// Bools were imported as the small integers that store them.
void restore_bools(imported_column& column)
{
  auto contents  = column.storage->release();
  column.storage = std::make_unique<cudf::column>(cudf::data_type{cudf::type_id::BOOL8},
                                                  column.offset + column.size,
                                                  std::move(*contents.data),
                                                  std::move(*contents.null_mask),
                                                  0);
}

imported_table gather_columns(imported_column const& whole,
                              column_layout const& layout,
                              detail::execution const& exec)
{
  auto const values = whole.view();
  auto result       = imported_table{{}, static_cast<cudf::size_type>(layout.rows)};
  for (std::int64_t i = 0; i < layout.columns; ++i) {
    auto const begin = i * layout.column_stride - layout.lowest;
    auto data        = detail::gather_strided({values,
                                               static_cast<cudf::size_type>(begin),
                                               result.num_rows,
                                               static_cast<cudf::size_type>(layout.row_stride)},
                                              exec);
    result.columns.push_back(
      {std::make_unique<cudf::column>(values.type(),
                                      result.num_rows,
                                      std::move(data),
                                      rmm::device_buffer{0, exec.stream, exec.mr},
                                      0),
       0,
       result.num_rows});
  }
  return result;
}

imported_table import_columns(tensor_view const& tensor,
                              column_layout const& layout,
                              tensor_array&& array,
                              import_options const& options,
                              cuda::stream_ref stream,
                              rmm::device_async_resource_ref mr)
{
  auto const schema = schema_of_columns(*layout.type, layout.columns);
  if (layout.is_contiguous()) {
    auto columns = array.columns(tensor.shape.size() == 2);
    if (tensor.shape.size() == 2) {
      return from_arrow_device_table(*schema.get(), columns.get(), options, stream, mr);
    }
    auto result = imported_table{{}, static_cast<cudf::size_type>(layout.rows)};
    result.columns.push_back(
      from_arrow_device_column(*schema->children[0], columns.get(), options, stream, mr));
    return result;
  }
  if (layout.span > detail::max_rows) {
    throw std::overflow_error{
      "expected columns within " + std::to_string(detail::max_rows) + " elements, got a span of " +
      std::to_string(layout.span) +
      ": import it in parts, or make its columns contiguous (Fortran order)"};
  }
  auto memory = array.whole();
  auto const whole =
    from_arrow_device_column(*schema->children[0], memory.get(), options, stream, mr);
  auto const exec = detail::execution{!has_gpu(), stream, mr};
  return gather_columns(whole, layout, exec);
}

}  // namespace

imported_tensor from_tensor(tensor_view const& tensor,
                            std::shared_ptr<void const> owner,
                            std::optional<cuda::stream_ref> producer,
                            copy_policy policy,
                            cuda::stream_ref stream,
                            rmm::device_async_resource_ref mr)
{
  detail::nvtx_range const range{__func__};
  auto const layout = layout_of(tensor);
  if (policy == copy_policy::never) {
    if (auto const reason = reason_to_copy(tensor, layout)) {
      throw std::invalid_argument{"copy=False: expected a tensor that can be shared, got one in " +
                                  to_string(tensor.location) + " that has to be copied, since " +
                                  *reason + "; copy=None copies it"};
    }
  }
  auto const options = import_options{.copy = policy};
  auto result        = imported_tensor{
    import_columns(
      tensor, layout, {tensor, layout, std::move(owner), producer}, options, stream, mr),
    tensor.shape.size() == 2};
  if (tensor.kind == element_kind::boolean) {
    for (auto& column : result.table.columns) { restore_bools(column); }
  }
  return result;
}

}  // namespace cudf_arrow_bridge
