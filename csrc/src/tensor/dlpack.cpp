// SPDX-License-Identifier: Apache-2.0
#include "cuda/location/location.hpp"
#include "tensor/dlpack_abi.hpp"
#include "tensor/element_type.hpp"

#include <cudf_arrow_bridge/tensor.hpp>

#include <cudf/utilities/error.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace cudf_arrow_bridge {
namespace {

/// An exported tensor with the memory of its pointers.
template <typename Managed>
struct managed_tensor {
  shared_tensor tensor;  ///< a copy that shares the memory
  Managed managed{};

  static Managed* create(shared_tensor const& tensor, ArrowDeviceType device_type)
  {
    auto exported = std::make_unique<managed_tensor>(tensor);
    exported->tensor.describe(&exported->managed.dl_tensor, device_type);
    exported->managed.manager_ctx = exported.get();
    exported->managed.deleter     = [](Managed* self) {
      delete static_cast<managed_tensor*>(self->manager_ctx);
    };
    return &exported.release()->managed;
  }

  explicit managed_tensor(shared_tensor from) : tensor{std::move(from)} {}
};

memory_location location_of(DLDevice const& device, void const* data)
{
  switch (device.device_type) {
    case ARROW_DEVICE_CPU: return {};
    // DLPack uses device id 0 for these kinds of memory.
    case ARROW_DEVICE_CUDA_HOST:
    case ARROW_DEVICE_CUDA_MANAGED:
      if (has_gpu() && data != nullptr) { return {device.device_type, locate(data).device_id}; }
      [[fallthrough]];
    default: return {device.device_type, device.device_id};
  }
}

/// The type's name, such as "bfloat16" or "float4_e2m1fn".
std::string name_of(DLDataType const& type)
{
  auto names = std::istringstream{
    "int uint float handle bfloat complex bool float8_e3m4 float8_e4m3 float8_e4m3b11fnuz "
    "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn "
    "float6_e3m2fn float4_e2m1fn"};  // by code
  auto name = std::string{};
  for (auto code = 0; code <= type.code; ++code) { names >> name; }
  auto const bits = std::to_string(type.bits);
  if (names.fail()) { return "code " + std::to_string(type.code) + " and " + bits + " bits"; }
  return type.code <= static_cast<std::uint8_t>(element_kind::boolean) ? name + bits : name;
}

void const* behind(void const* data, std::uint64_t bytes)
{
  auto const address = reinterpret_cast<std::uintptr_t>(data);
  // No object is larger than the address space, and none crosses the last address.
  if (bytes > std::uint64_t{std::numeric_limits<std::ptrdiff_t>::max()} ||
      bytes > std::numeric_limits<std::uintptr_t>::max() - address) {
    throw std::invalid_argument{"expected a byte offset within an address space, got " +
                                std::to_string(bytes)};
  }
  return static_cast<std::byte const*>(data) + bytes;
}

tensor_view view_of(DLTensor const& tensor)
{
  auto const& type = tensor.dtype;
  if (type.lanes != 1) {
    throw cudf::data_type_error{"expected a DLPack type of 1 lane, got " +
                                std::to_string(type.lanes)};
  }
  auto view = tensor_view{};
  view.kind = element_kind{type.code};
  view.bits = type.bits;
  if (detail::find_element(view.kind, view.bits) == nullptr) {
    throw cudf::data_type_error{
      "expected a DLPack type of numbers of whole bytes or bools of 8 bits, got " + name_of(type)};
  }
  if (tensor.ndim < 1 || tensor.ndim > detail::max_dimensions) {
    throw std::invalid_argument{"expected a tensor of 1 to " +
                                std::to_string(detail::max_dimensions) + " dimensions, got " +
                                std::to_string(tensor.ndim)};
  }
  if (tensor.shape == nullptr) { throw std::invalid_argument{"the tensor has no shape"}; }
  auto const ndim = static_cast<std::size_t>(tensor.ndim);
  view.shape.assign(tensor.shape, tensor.shape + ndim);
  if (tensor.strides == nullptr) {
    view.strides = detail::row_major(view.shape);
  } else {
    view.strides.assign(tensor.strides, tensor.strides + ndim);
  }
  if (tensor.data != nullptr) { view.data = behind(tensor.data, tensor.byte_offset); }
  view.location = location_of(tensor.device, view.data);
  return view;
}

}  // namespace

void shared_tensor::describe(DLTensor* tensor, ArrowDeviceType device_type) const noexcept
{
  auto const id  = device_type == ARROW_DEVICE_CUDA ? view_.location.device_id : 0;
  tensor->data   = const_cast<void*>(view_.data);
  tensor->device = {device_type, static_cast<std::int32_t>(id)};
  tensor->ndim   = static_cast<std::int32_t>(view_.shape.size());
  tensor->dtype = {static_cast<std::uint8_t>(view_.kind), static_cast<std::uint8_t>(view_.bits), 1};
  tensor->shape = const_cast<std::int64_t*>(view_.shape.data());
  tensor->strides     = const_cast<std::int64_t*>(view_.strides.data());
  tensor->byte_offset = 0;
}

DLManagedTensorVersioned* shared_tensor::to_dlpack_versioned(ArrowDeviceType device_type,
                                                             bool is_copy) const
{
  auto* managed    = managed_tensor<DLManagedTensorVersioned>::create(*this, device_type);
  managed->version = {detail::dlpack_major_version, detail::dlpack_minor_version};
  managed->flags   = is_copy || is_copy_ ? detail::dlpack_is_copied : detail::dlpack_read_only;
  return managed;
}

DLManagedTensor* shared_tensor::to_dlpack(ArrowDeviceType device_type) const
{ return managed_tensor<DLManagedTensor>::create(*this, device_type); }

tensor_view view_dlpack(DLManagedTensor const* tensor) { return view_of(tensor->dl_tensor); }

tensor_view view_dlpack(DLManagedTensorVersioned const* tensor)
{
  if (tensor->version.major != detail::dlpack_major_version) {
    throw std::invalid_argument{
      "expected a tensor of DLPack " + std::to_string(detail::dlpack_major_version) + ".x, got " +
      std::to_string(tensor->version.major) + "." + std::to_string(tensor->version.minor)};
  }
  return view_of(tensor->dl_tensor);
}

void delete_dlpack(DLManagedTensor* tensor)
{
  if (tensor->deleter != nullptr) { tensor->deleter(tensor); }
}

void delete_dlpack(DLManagedTensorVersioned* tensor)
{
  if (tensor->deleter != nullptr) { tensor->deleter(tensor); }
}

DLManagedTensorVersioned* allocate_dlpack(DLTensor const* prototype,
                                          std::shared_ptr<void const> owner,
                                          cuda::stream_ref stream,
                                          rmm::device_async_resource_ref mr)
{
  auto const& [type, id] = prototype->device;
  if (type != ARROW_DEVICE_CPU && (type != ARROW_DEVICE_CUDA || !has_gpu())) {
    throw std::invalid_argument{"expected a tensor on the CPU or a CUDA device, got " +
                                to_string({type, id})};
  }
  if (prototype->ndim < 0 || (prototype->ndim > 0 && prototype->shape == nullptr)) {
    throw std::invalid_argument{"the tensor has no shape"};
  }
  auto view    = tensor_view{};
  view.shape   = {prototype->shape, prototype->shape + prototype->ndim};
  view.strides = detail::row_major(view.shape);
  auto size    = std::int64_t{(prototype->dtype.bits * prototype->dtype.lanes + 7) / 8};
  for (auto const extent : view.shape) {
    if (extent < 0) {
      throw std::invalid_argument{"an extent is negative: " + std::to_string(extent)};
    }
    if (__builtin_mul_overflow(size, extent, &size)) {
      throw std::invalid_argument{"the tensor has more bytes than 64 bits can count"};
    }
  }
  view.location = location_of(prototype->device, nullptr);
  auto const resource =
    type == ARROW_DEVICE_CPU ? host_memory_resource() : detail::resource_at(view.location, mr);
  auto const guard = detail::guard_device(view.location);
  auto const tree  = std::make_shared<detail::array_tree>();
  tree->owner      = std::move(owner);
  tree->location   = view.location;
  view.data =
    tree->conversions.emplace_back(static_cast<std::size_t>(size), stream, resource).data();
  tree->add_nodes(1);
  auto const tensor = shared_tensor{std::move(view), detail::array_tree::to_arrow(tree, 0), true};
  auto* managed     = tensor.to_dlpack_versioned(tensor.view().location.device_type);
  managed->flags    = 0;
  managed->dl_tensor.dtype = prototype->dtype;
  return managed;
}

}  // namespace cudf_arrow_bridge
