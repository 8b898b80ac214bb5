// SPDX-License-Identifier: Apache-2.0
/// @file
/// Imports of tensors wait for their producers. No memory is freed while a stream reads it.
#include "sim/tests/bridge_test.hpp"
#include "tensor/dlpack_abi.hpp"

#include <cudf_arrow_bridge/tensor.hpp>

#include <optional>
#include <stdexcept>
#include <thread>

namespace cudf_arrow_bridge::test {
namespace {

/// A producer's tensor, computed late on a stream. Its deleter overwrites the memory.
class tensor_producer {
 public:
  tensor_producer(cudaStream_t stream,
                  integers_t values,
                  std::vector<std::int64_t> shape,
                  std::vector<std::int64_t> strides,
                  memory_kind kind = memory_kind::device,
                  int device       = 0)
    : shape_{std::move(shape)}, strides_{std::move(strides)}
  {
    auto const guard = on_device{rmm::cuda_device_id{device}};
    auto const size  = values.size() * sizeof(std::int32_t);
    data_            = sim::allocate(kind, device, size);
    sim::enqueue(stream, [target = data_, size, values = std::move(values)] {
      std::memcpy(target, values.data(), size);
    });
  }

  tensor_producer(tensor_producer const&)            = delete;
  tensor_producer& operator=(tensor_producer const&) = delete;

  /// @return The tensor. Its deleter must be called once, before this object is destroyed.
  DLManagedTensorVersioned* produce(std::int32_t device_type = ARROW_DEVICE_CUDA, int device_id = 0)
  {
    managed_.version     = {1, 0};
    managed_.manager_ctx = this;
    managed_.deleter     = [](DLManagedTensorVersioned* self) {
      auto* producer = static_cast<tensor_producer*>(self->manager_ctx);
      sim::deallocate(producer->data_);
      ++producer->deleted_;
    };
    managed_.dl_tensor = {data_,
                          {device_type, device_id},
                          static_cast<std::int32_t>(shape_.size()),
                          {0, 32, 1},
                          shape_.data(),
                          strides_.data(),
                          0};
    return &managed_;
  }

  [[nodiscard]] int deleted() const { return deleted_; }

 private:
  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> strides_;
  void* data_{nullptr};
  DLManagedTensorVersioned managed_{};
  std::atomic<int> deleted_{0};
};

class TensorImportOrder : public bridge_test {
 protected:
  /// Imports a tensor of a producer that computes it on `stream`.
  imported_tensor import_from(tensor_producer& source,
                              cudaStream_t stream,
                              cudaStream_t consumer,
                              copy_policy policy,
                              int device = 0)
  {
    auto const owner = std::shared_ptr<DLManagedTensorVersioned const>{
      source.produce(ARROW_DEVICE_CUDA, device),
      [](DLManagedTensorVersioned* owned) { owned->deleter(owned); }};
    return from_tensor(view_dlpack(owner.get()), owner, stream, policy, consumer, pool_);
  }

  /// Expects the rows of one column that a kernel reads before the import is freed.
  static void expect_column(imported_tensor&& imported,
                            shape const& type,
                            rows const& expected,
                            cudaStream_t stream,
                            int column = 0)
  {
    auto const seen = read_later(imported.table.view().column(column), type, stream);
    imported        = {};
    synchronize(stream);
    drain_releases();  // the producer of the tensor may be destroyed next
    EXPECT_EQ(*seen, expected);
  }
};

TEST_F(TensorImportOrder, TensorsBecomeListsThatShareTheirMemory)
{
  for_seeds(many_seeds, [&](cudaStream_t stream) {
    auto source       = tensor_producer{stream, {1, 2, 3, 4, 5, 6}, {2, 3}, {3, 1}};
    auto* const taken = source.produce();
    auto const* data  = taken->dl_tensor.data;
    auto const before = sim::host_syncs_here();
    auto imported     = from_dlpack(taken, copy_policy::never, stream, pool_, tensor_kind::column);
    EXPECT_EQ(sim::host_syncs_here(), before);
    EXPECT_EQ(imported.table.view().column(0).child(1).head<void>(), data);
    expect_column(std::move(imported),
                  list_of(flat("int32")),
                  {value{integer_rows({1, 2, 3})}, value{integer_rows({4, 5, 6})}},
                  stream);
    settle();
    EXPECT_EQ(source.deleted(), 1);
  });
}

TEST_F(TensorImportOrder, TensorsOfOtherOrdersAreGatheredToLists)
{
  auto const stream = lasting_stream{};
  // Shape 2 x 2 x 2, with the last two dimensions exchanged.
  auto source = tensor_producer{stream.get(), {0, 1, 2, 3, 4, 5, 6, 7}, {2, 2, 2}, {4, 1, 2}};
  expect_column(
    from_dlpack(source.produce(), copy_policy::as_needed, stream.get(), pool_, tensor_kind::column),
    list_of(flat("int32")),
    {value{integer_rows({0, 2, 1, 3})}, value{integer_rows({4, 6, 5, 7})}},
    stream.get());
}

TEST_F(TensorImportOrder, ImportsWaitForTheDefaultStreamsOfAllThreads)
{
  auto const values = integers_t{5, 6, 7, 8};
  for_seeds(many_seeds, [&](cudaStream_t consumer) {
    auto source = std::unique_ptr<tensor_producer>{};
    std::thread{[&] {
      source.reset(new tensor_producer{cudaStreamPerThread, values, {4}, {1}});
    }}.join();
    // The handle `cudaStreamPerThread` does not identify the thread of the stream.
    auto imported = import_from(*source, cudaStreamPerThread, consumer, copy_policy::never);
    expect_column(std::move(imported), flat("int32"), integer_rows(values), consumer);
  });
}

TEST_F(TensorImportOrder, ImportsWaitForTheProducersStream)
{
  auto const values = integers_t{5, 6, 7, 8};
  for_seeds(many_seeds, [&](cudaStream_t far, cudaStream_t consumer) {
    auto source       = tensor_producer{far, values, {4}, {1}};
    auto const before = sim::host_syncs_here();
    auto imported     = import_from(source, far, consumer, copy_policy::never);
    EXPECT_EQ(sim::host_syncs_here(), before);
    expect_column(std::move(imported), flat("int32"), integer_rows(values), consumer);
  });
}

TEST_F(TensorImportOrder, DeletersRunOnceAfterTheLastReader)
{
  for_seeds(many_seeds, [&](cudaStream_t stream) {
    auto source   = tensor_producer{stream, {1, 2, 3, 4}, {2, 2}, {1, 2}};
    auto imported = from_dlpack(source.produce(), copy_policy::never, stream, pool_);
    EXPECT_TRUE(imported.is_table);
    auto slow       = std::optional<sim::slow_stream>{stream};
    auto const seen = read_later(imported.table.view().column(1), flat("int32"), stream);
    imported        = {};
    EXPECT_EQ(source.deleted(), 0);
    slow.reset();
    settle();
    EXPECT_EQ(source.deleted(), 1);
    EXPECT_EQ(*seen, integer_rows({3, 4}));
  });
}

TEST_F(TensorImportOrder, SourceIsKeptUntilTheGatherHasRun)
{
  for_seeds(many_seeds, [&](cudaStream_t stream) {
    auto source       = tensor_producer{stream, {1, 2, 3, 4, 5, 6}, {3, 2}, {2, 1}};
    auto slow         = std::optional<sim::slow_stream>{stream};
    auto const before = sim::host_syncs_here();
    auto imported     = from_dlpack(source.produce(), copy_policy::as_needed, stream, pool_);
    EXPECT_EQ(sim::host_syncs_here(), before);
    EXPECT_EQ(source.deleted(), 0);
    slow.reset();
    auto const seen = read_later(imported.table.view().column(1), flat("int32"), stream);
    imported        = {};
    settle();
    EXPECT_EQ(*seen, integer_rows({2, 4, 6}));
    EXPECT_EQ(source.deleted(), 1);
  });
}

TEST_F(TensorImportOrder, MemoryOfAnotherDeviceRequiresACopy)
{
  for_seeds(many_seeds, [&](cudaStream_t here) {
    auto const far = stream_on(1);
    auto refused   = tensor_producer{far->get(), {1, 2}, {2}, {1}, memory_kind::device, 1};
    synchronize(far->get());
    EXPECT_THROW((void)import_from(refused, far->get(), here, copy_policy::as_needed, 1),
                 std::invalid_argument);
    EXPECT_EQ(refused.deleted(), 1);
    auto copied   = tensor_producer{far->get(), {1, 2}, {2}, {1}, memory_kind::device, 1};
    auto imported = import_from(copied, far->get(), here, copy_policy::always, 1);
    expect_column(std::move(imported), flat("int32"), integer_rows({1, 2}), here);
    settle();
  });
}

TEST_F(TensorImportOrder, ViewDlpackFindsTheDeviceOfManagedMemory)
{
  auto const far = stream_on(1);
  auto source    = tensor_producer{far->get(), {7}, {1}, {1}, memory_kind::managed, 1};
  auto* managed  = source.produce(ARROW_DEVICE_CUDA_MANAGED, 0);
  EXPECT_EQ(view_dlpack(managed).location, (memory_location{ARROW_DEVICE_CUDA_MANAGED, 1}));
  sim::drain();
  managed->deleter(managed);
}

TEST_F(TensorImportOrder, ImportRejectsAnInvalidStreamOfTheProducer)
{
  auto const stream = lasting_stream{};
  auto source       = tensor_producer{stream.get(), {1}, {1}, {1}};
  synchronize(stream.get());
  auto const wrong = reinterpret_cast<cudaStream_t>(std::uintptr_t{8});
  EXPECT_THROW((void)import_from(source, wrong, stream.get(), copy_policy::as_needed),
               std::invalid_argument);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST_F(TensorImportOrder, HostMemoryIsUploadedUnlessThePolicyForbidsCopies)
{
  auto const stream = lasting_stream{};
  auto const owner  = std::make_shared<int>(0);
  // AddressSanitizer detects copies of more than the tensor's memory.
  auto grid = integers_t{1, 2, 3, 4, 5, 6};
  auto const import_as =
    [&](std::vector<std::int64_t> size, std::vector<std::int64_t> strides, copy_policy policy) {
      auto const view = tensor_view{
        grid.data(), {}, element_kind::integer, 32, std::move(size), std::move(strides)};
      return from_tensor(view, owner, std::nullopt, policy, stream.get(), pool_);
    };
  EXPECT_THROW((void)import_as({6}, {1}, copy_policy::never), std::invalid_argument);
  expect_column(
    import_as({6}, {1}, copy_policy::as_needed), flat("int32"), integer_rows(grid), stream.get());
  expect_column(import_as({3, 2}, {2, 1}, copy_policy::as_needed),
                flat("int32"),
                integer_rows({2, 4, 6}),
                stream.get(),
                1);
  settle();
  EXPECT_EQ(owner.use_count(), 1);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
