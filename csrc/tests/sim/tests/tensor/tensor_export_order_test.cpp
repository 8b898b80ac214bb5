// SPDX-License-Identifier: Apache-2.0
/// @file
/// Consumers wait for exported tensors, and no memory is freed while a stream reads it.
#include "sim/tests/bridge_test.hpp"
#include "tensor/dlpack_abi.hpp"

#include <cudf_arrow_bridge/tensor.hpp>

#include <stdexcept>

namespace cudf_arrow_bridge::test {
namespace {

class TensorExportOrder : public bridge_test {
 protected:
  /// Exports an array as a tensor. Copies from another device use its current resource.
  shared_tensor to_tensor_of(unique_device_array& array,
                             shape const& type,
                             copy_policy policy,
                             cudaStream_t stream,
                             std::shared_ptr<void const> owner = nullptr)
  {
    return to_tensor(
      *make_schema(type).get(), array.get(), policy, std::move(owner), stream, pool_);
  }

  shared_tensor export_integers(integers_t const& values,
                                copy_policy policy,
                                cudaStream_t stream,
                                int device = 0)
  {
    auto array = export_rows(flat("int32"), integer_rows(values), stream, device).to_arrow();
    return to_tensor_of(array, flat("int32"), policy, stream);
  }

  /// Enqueues a consumer's read. @return The values, set when the kernel has run
  static std::shared_ptr<integers_t> read_tensor_later(void const* data,
                                                       std::size_t size,
                                                       cudaStream_t on)
  {
    auto seen = std::make_shared<integers_t>(size);
    sim::enqueue(on, [=] { std::memcpy(seen->data(), data, size * sizeof(std::int32_t)); });
    return seen;
  }

  /// Expects the values that a kernel reads on a stream that waits for the tensor.
  static void expect_values(shared_tensor const& tensor,
                            integers_t const& values,
                            cudaStream_t consumer)
  {
    auto const before = sim::host_syncs_here();
    tensor.make_wait(consumer);
    EXPECT_EQ(sim::host_syncs_here(), before);
    auto const seen = read_tensor_later(tensor.view().data, values.size(), consumer);
    synchronize(consumer);
    EXPECT_EQ(*seen, values);
  }
};

TEST_F(TensorExportOrder, MemoryIsFreedAfterTheDefaultStreamsOfConsumers)
{
  auto const values = integers_t{5, 6, 7};
  for (auto const reader : {cudaStreamLegacy, cudaStreamPerThread}) {
    for_seeds(many_seeds, [&](cudaStream_t made) {
      auto* exported = [&] {
        auto tensor = export_integers(values, copy_policy::never, made);
        tensor.make_wait(reader);
        tensor.release_after(made, reader);
        return tensor.to_dlpack_versioned(ARROW_DEVICE_CUDA);
      }();
      auto const seen = read_tensor_later(exported->dl_tensor.data, values.size(), reader);
      exported->deleter(exported);
      auto const next = integer_column(made, {1, 2, 3});
      settle();
      synchronize(reader);
      EXPECT_EQ(*seen, values);
    });
  }
}

TEST_F(TensorExportOrder, ConsumersWaitForExports)
{
  auto const values = integers_t{5, 6, 7};
  for (auto const policy : {copy_policy::never, copy_policy::always}) {
    for_seeds(many_seeds, [&](cudaStream_t stream, cudaStream_t consumer) {
      auto const before = sim::host_syncs_here();
      auto const tensor = export_integers(values, policy, stream);
      EXPECT_EQ(sim::host_syncs_here(), before);
      EXPECT_EQ(tensor.is_copy(), policy == copy_policy::always);
      expect_values(tensor, values, consumer);
    });
  }
}

TEST_F(TensorExportOrder, WaitBlocksUntilTheExportIsReady)
{
  for_seeds(many_seeds, [&](cudaStream_t stream) {
    auto const tensor = export_integers({9}, copy_policy::as_needed, stream);
    tensor.wait();
    EXPECT_EQ(*static_cast<std::int32_t const*>(tensor.view().data), 9);
  });
}

TEST_F(TensorExportOrder, DefaultStreamsAreOnTheMemorysDevice)
{
  for_seeds(many_seeds, [&] {
    auto const stream = stream_on(1);
    auto const tensor = export_integers({4, 2}, copy_policy::always, stream->get(), 1);
    EXPECT_EQ(tensor.view().location, (memory_location{ARROW_DEVICE_CUDA, 1}));
    EXPECT_EQ(rmm::get_current_cuda_device().value(), 0);
    tensor.make_wait(cudaStreamLegacy);
    auto const guard = on_device{rmm::cuda_device_id{1}};
    auto const seen  = read_tensor_later(tensor.view().data, 2, cudaStreamLegacy);
    synchronize(cudaStreamLegacy);
    EXPECT_EQ(*seen, (integers_t{4, 2}));
  });
}

TEST_F(TensorExportOrder, NullsAreCountedAfterTheEvent)
{
  auto const type     = flat("int32");
  auto const values   = samples(type, 50, 40);
  auto const expected = "the number of nulls is " + std::to_string(count_nulls(values));
  for_seeds(many_seeds, [&](cudaStream_t far, cudaStream_t stream) {
    auto array              = export_rows(type, values, far).to_arrow();
    array->array.null_count = -1;
    expect_in(expected, message_of<cudf::data_type_error>([&] {
                (void)to_tensor_of(array, type, copy_policy::never, stream);
              }));
    EXPECT_FALSE(array.is_released());
  });
}

TEST_F(TensorExportOrder, CopiesWaitForTheArrayAndKeepItAlive)
{
  auto const values = integers_t{3, 1, 4};
  for_seeds(many_seeds, [&](cudaStream_t far, cudaStream_t stream) {
    // Unlike the memory of a column, this memory is overwritten when it is freed.
    auto const owner =
      std::shared_ptr<void>{sim::allocate(memory_kind::device, 0, 12), &sim::deallocate};
    sim::enqueue(far, [to = owner.get(), values] { std::memcpy(to, values.data(), 12); });
    auto const view =
      cudf::column_view{cudf::data_type{cudf::type_id::INT32}, 3, owner.get(), nullptr, 0};
    auto array = to_arrow_device(view, owner, {}, far, pool_).to_arrow();
    expect_values(to_tensor_of(array, flat("int32"), copy_policy::always, stream), values, far);
  });
}

TEST_F(TensorExportOrder, CopiesKeepTheirOwner)
{
  auto const stream = lasting_stream{};
  auto const owner  = std::make_shared<int>(0);
  auto array        = to_arrow(integer_column(stream.get(), {1, 2}), stream.get()).to_arrow();
  {
    auto const copy = to_tensor_of(array, flat("int32"), copy_policy::always, stream.get(), owner);
    EXPECT_GT(owner.use_count(), 1);
  }
  settle();
  EXPECT_EQ(owner.use_count(), 1);
}

TEST_F(TensorExportOrder, ToTensorDoesNotConsumeTheArrayIfItRejectsTheResource)
{
  auto const stream = lasting_stream{};
  auto const schema = make_schema(flat("int32"));
  auto array        = to_arrow(integer_column(stream.get(), {1, 2}), stream.get()).to_arrow();
  auto const copy   = [&](rmm::device_async_resource_ref mr) {
    return to_tensor(*schema.get(), array.get(), copy_policy::always, nullptr, stream.get(), mr);
  };
  EXPECT_THROW((void)copy(far_pool_), cudf::data_type_error);
  ASSERT_FALSE(array.is_released());
  EXPECT_TRUE(copy(pool_).is_copy());
  EXPECT_TRUE(array.is_released());
}

TEST_F(TensorExportOrder, ColumnsThatAreMisalignedForTheirSizeAreCopied)
{
  auto const type = struct_of({flat("int32"), flat("int32")});
  auto const values =
    rows{value{integer_rows({0, 0})}, value{integer_rows({1, 4})}, value{integer_rows({2, 5})}};
  for_seeds(many_seeds, [&](cudaStream_t far, cudaStream_t stream, cudaStream_t reader) {
    auto array = export_rows(type, values, far).to_arrow();
    // Two values of 4 bytes, but not at a multiple of 8.
    array->array.offset = 1;
    array->array.length = 2;
    auto const tensor   = to_tensor_of(array, type, copy_policy::as_needed, stream);
    EXPECT_TRUE(tensor.is_copy());
    expect_values(tensor, {1, 2, 4, 5}, reader);
  });
}

TEST_F(TensorExportOrder, ListsOfOneLengthAreATensorOverTheirElements)
{
  auto const type   = list_of(flat("int32"));
  auto const values = rows{value{integer_rows({1, 2})}, value{integer_rows({3, 4})}};
  for_seeds(many_seeds, [&](cudaStream_t far, cudaStream_t stream) {
    auto source       = column(type, values, far);
    auto const* data  = source->child(1).view().head<void>();
    auto const handle = to_arrow(std::move(source), far);
    auto array        = handle.to_arrow();
    auto const before = sim::host_syncs_here();
    auto const tensor = to_tensor_of(array, type, copy_policy::never, stream);
    EXPECT_EQ(sim::host_syncs_here(), before + 1);
    array            = handle.to_arrow();
    auto const other = to_tensor_of(array, type, copy_policy::never, stream);
    EXPECT_EQ(other.view().data, data);
    EXPECT_EQ(other.view().shape, tensor.view().shape);
    EXPECT_EQ(sim::host_syncs_here(), before + 1);
    EXPECT_EQ(tensor.view().data, data);
    EXPECT_EQ(tensor.view().shape, (std::vector<std::int64_t>{2, 2}));
    EXPECT_EQ(tensor.view().strides, (std::vector<std::int64_t>{2, 1}));
    expect_values(tensor, {1, 2, 3, 4}, stream);
  });
}

TEST_F(TensorExportOrder, ListsOfSeveralLengthsAreNotATensor)
{
  auto const type   = list_of(flat("int32"));
  auto const stream = lasting_stream{};
  auto const values = rows{value{integer_rows({1, 2})},
                           value{integer_rows({3, 4})},
                           value{integer_rows({5})},
                           value{integer_rows({6, 7, 8})}};
  auto array        = export_rows(type, values, stream.get()).to_arrow();
  expect_in("the lists have 1 to 3 elements", message_of<cudf::data_type_error>([&] {
              (void)to_tensor_of(array, type, copy_policy::never, stream.get());
            }));
  EXPECT_FALSE(array.is_released());
}

TEST_F(TensorExportOrder, RowMajorTensorsAreInterleavedAfterTheExport)
{
  auto const type   = struct_of({flat("int32"), flat("int32")});
  auto const values = rows{value{integer_rows({1, 4})}, value{integer_rows({2, 5})}};
  for_seeds(many_seeds, [&](cudaStream_t far, cudaStream_t stream, cudaStream_t reader) {
    auto array        = export_rows(type, values, far).to_arrow();
    auto const tensor = to_tensor(*make_schema(type).get(),
                                  array.get(),
                                  copy_policy::as_needed,
                                  nullptr,
                                  stream,
                                  pool_,
                                  tensor_order::row_major);
    EXPECT_TRUE(tensor.is_copy());
    EXPECT_EQ(tensor.view().strides, (std::vector<std::int64_t>{2, 1}));
    expect_values(tensor, {1, 4, 2, 5}, reader);
  });
}

TEST_F(TensorExportOrder, DlpackTensorsHaveTheDeviceTypeAndTheReadOnlyFlag)
{
  auto const stream = lasting_stream{};
  auto const tensor = export_integers({1, 2}, copy_policy::never, stream.get());
  auto* managed     = tensor.to_dlpack_versioned(ARROW_DEVICE_CUDA);
  EXPECT_EQ(managed->version.minor, 3);
  EXPECT_EQ(managed->flags, detail::dlpack_read_only);
  EXPECT_EQ(managed->dl_tensor.device.device_type, ARROW_DEVICE_CUDA);
  EXPECT_EQ(managed->dl_tensor.data, tensor.view().data);
  managed->deleter(managed);
  auto* copied = tensor.to_dlpack_versioned(ARROW_DEVICE_CUDA, true);
  EXPECT_EQ(copied->flags, detail::dlpack_is_copied);
  copied->deleter(copied);
  auto view = DLTensor{};
  tensor.describe(&view, ARROW_DEVICE_CUDA);
  EXPECT_EQ(view.shape, tensor.view().shape.data());
  EXPECT_EQ(view.strides, tensor.view().strides.data());
  auto* old = tensor.to_dlpack(ARROW_DEVICE_CPU);
  EXPECT_EQ(old->dl_tensor.device.device_type, ARROW_DEVICE_CPU);
  old->deleter(old);
}

/// Allocates a tensor of 32-bit integers with the current resource, on the legacy default stream.
DLManagedTensorVersioned* allocate_integers(DLDevice const& device,
                                            std::int64_t size,
                                            std::shared_ptr<void const> owner = {})
{
  auto const prototype = DLTensor{nullptr, device, 1, {0, 32, 1}, &size, nullptr, 0};
  return allocate_dlpack(&prototype,
                         std::move(owner),
                         cuda::stream_ref{cudaStream_t{}},
                         rmm::mr::get_current_device_resource_ref());
}

TEST_F(TensorExportOrder, AllocatedTensorsAreOnTheDeviceOfThePrototype)
{
  auto const values = integers_t{5, 6, 7};
  for (auto const device : {0, 1}) {
    for_seeds(many_seeds, [&] {
      auto const live  = sim::live_allocations();
      auto const owner = std::make_shared<int>(0);
      auto* managed    = allocate_integers({ARROW_DEVICE_CUDA, device}, std::ssize(values), owner);
      auto* data       = managed->dl_tensor.data;
      EXPECT_EQ(locate(data), (memory_location{ARROW_DEVICE_CUDA, device}));
      EXPECT_GT(owner.use_count(), 1);
      auto const seen = [&] {
        auto const guard = on_device{rmm::cuda_device_id{device}};
        sim::enqueue(cudaStreamLegacy, [=] { std::memcpy(data, values.data(), 12); });
        return read_tensor_later(data, values.size(), cudaStreamLegacy);
      }();
      managed->deleter(managed);
      settle();
      EXPECT_EQ(*seen, values) << "the memory is freed after the work on the stream";
      EXPECT_EQ(sim::live_allocations(), live);
      EXPECT_EQ(owner.use_count(), 1);
    });
  }
}

TEST_F(TensorExportOrder, TensorsAreAllocatedOnlyInCpuAndCudaMemory)
{
  auto* host = allocate_integers({ARROW_DEVICE_CPU, 0}, 2);
  EXPECT_EQ(locate(host->dl_tensor.data).device_type, ARROW_DEVICE_CPU);
  host->deleter(host);
  for (auto const type : {ARROW_DEVICE_CUDA_HOST, ARROW_DEVICE_CUDA_MANAGED}) {
    EXPECT_THROW((void)allocate_integers({type, 0}, 2), std::invalid_argument);
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
