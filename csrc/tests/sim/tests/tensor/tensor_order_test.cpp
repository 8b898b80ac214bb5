// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tensors: consumers wait for exports, imports wait for producers, and no memory is freed while a
/// stream reads it.
#include "sim/tests/bridge_test.hpp"
#include "tensor/dlpack_abi.hpp"
#include "testing/arrow_schema.hpp"

#include <cudf_arrow_bridge/tensor.hpp>

#include <optional>
#include <stdexcept>
#include <string_view>
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

/// Owns a tensor; calls its deleter.
std::shared_ptr<DLManagedTensorVersioned const> own(DLManagedTensorVersioned* tensor)
{
  return {tensor, [](DLManagedTensorVersioned* owned) { owned->deleter(owned); }};
}

class tensor_order : public bridge_test {
 protected:
  shared_tensor export_integers(integers_t const& values,
                                copy_policy policy,
                                cudaStream_t stream,
                                int device = 0)
  {
    auto const resource = rmm::device_async_resource_ref{device == 0 ? pool_ : far_pool_};
    auto const array    = [&] {
      auto const guard = on_device{rmm::cuda_device_id{device}};
      auto source      = std::shared_ptr<cudf::column>{
        upload_column(make_column(flat("int32"), integer_rows(values)), stream, resource)};
      auto const view = source->view();
      return to_arrow_device(view, std::move(source), {}, stream, resource);
    }();
    auto exported = array.to_arrow();
    // Memory of another device is copied with the current resource of that device.
    return to_tensor(*integer_schema().get(), exported.get(), policy, nullptr, stream, pool_);
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
};

TEST_F(tensor_order, memory_is_freed_after_the_default_streams_of_consumers)
{
  auto const values = integers_t{5, 6, 7};
  for (auto const reader : {cudaStreamLegacy, cudaStreamPerThread}) {
    for (auto seed = 0U; seed < many_seeds; ++seed) {
      sim::reset(seed);
      auto const made = lasting_stream{};
      auto* exported  = [&] {
        auto tensor = export_integers(values, copy_policy::never, made.get());
        tensor.make_wait(cuda::stream_ref{reader});
        tensor.release_after(cuda::stream_ref{made.get()}, cuda::stream_ref{reader});
        return tensor.to_dlpack_versioned(ARROW_DEVICE_CUDA);
      }();
      auto const seen = read_tensor_later(exported->dl_tensor.data, values.size(), reader);
      exported->deleter(exported);
      auto const next = integer_column(made.get(), {1, 2, 3});
      settle();
      synchronize(reader);
      EXPECT_EQ(*seen, values);
    }
  }
}

TEST_F(tensor_order, consumers_wait_for_exports)
{
  auto const values = integers_t{5, 6, 7};
  for (auto const policy : {copy_policy::never, copy_policy::always}) {
    for (auto seed = 0U; seed < many_seeds; ++seed) {
      sim::reset(seed);
      auto const stream   = lasting_stream{};
      auto const consumer = lasting_stream{};
      auto const before   = sim::host_syncs_here();
      auto const tensor   = export_integers(values, policy, stream.get());
      tensor.make_wait(consumer.get());
      EXPECT_EQ(sim::host_syncs_here(), before);
      EXPECT_EQ(tensor.is_copy(), policy == copy_policy::always);
      auto const seen = read_tensor_later(tensor.view().data, values.size(), consumer.get());
      synchronize(consumer.get());
      EXPECT_EQ(*seen, values);
    }
  }
}

TEST_F(tensor_order, wait_blocks_until_the_export_is_ready)
{
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const stream = lasting_stream{};
    auto const tensor = export_integers({9}, copy_policy::as_needed, stream.get());
    tensor.wait();
    EXPECT_EQ(*static_cast<std::int32_t const*>(tensor.view().data), 9);
  }
}

TEST_F(tensor_order, default_streams_are_on_the_memorys_device)
{
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const stream = stream_on(1);
    auto const tensor = export_integers({4, 2}, copy_policy::always, stream->get(), 1);
    EXPECT_EQ(tensor.view().location, (memory_location{ARROW_DEVICE_CUDA, 1}));
    EXPECT_EQ(rmm::get_current_cuda_device().value(), 0);
    tensor.make_wait(cuda::stream_ref{cudaStreamLegacy});
    auto const guard = on_device{rmm::cuda_device_id{1}};
    auto const seen  = read_tensor_later(tensor.view().data, 2, cudaStreamLegacy);
    EXPECT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess);
    EXPECT_EQ(*seen, (integers_t{4, 2}));
  }
}

TEST_F(tensor_order, nulls_are_counted_after_the_event)
{
  auto const type   = flat("int32");
  auto const values = samples(type, 50, 40);
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const far          = lasting_stream{};
    auto const stream       = lasting_stream{};
    auto source             = column(type, values, far.get());
    auto const expected     = "the number of nulls is " + std::to_string(source->null_count());
    auto array              = to_arrow(std::move(source), far.get()).to_arrow();
    array->array.null_count = -1;
    try {
      (void)to_tensor(
        *integer_schema().get(), array.get(), copy_policy::never, nullptr, stream.get(), pool_);
      FAIL();
    } catch (cudf::data_type_error const& error) {
      EXPECT_EQ(std::string_view{error.what()}.substr(0, expected.size()), expected);
    }
    EXPECT_FALSE(array.is_released());
  }
}

TEST_F(tensor_order, copies_wait_for_the_array_and_keep_it_alive)
{
  auto const values = integers_t{3, 1, 4};
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const far    = lasting_stream{};
    auto const stream = lasting_stream{};
    auto const size   = values.size() * sizeof(std::int32_t);
    auto* memory      = sim::allocate(memory_kind::device, 0, size);
    // Unlike the memory of a column, this memory is overwritten when it is freed.
    auto owner = std::shared_ptr<void const>{
      memory, [](void const* freed) { sim::deallocate(const_cast<void*>(freed)); }};
    sim::enqueue(far.get(), [=] { std::memcpy(memory, values.data(), size); });
    auto const view =
      cudf::column_view{cudf::data_type{cudf::type_id::INT32}, 3, memory, nullptr, 0};
    auto array  = to_arrow_device(view, std::move(owner), {}, far.get(), pool_).to_arrow();
    auto tensor = to_tensor(
      *integer_schema().get(), array.get(), copy_policy::always, nullptr, stream.get(), pool_);
    tensor.make_wait(far.get());
    auto const seen = read_tensor_later(tensor.view().data, values.size(), far.get());
    synchronize(far.get());
    EXPECT_EQ(*seen, values);
  }
}

TEST_F(tensor_order, copies_keep_their_owner)
{
  auto const stream = lasting_stream{};
  auto const owner  = std::make_shared<int>(0);
  auto array        = to_arrow(integer_column(stream.get(), {1, 2}), stream.get()).to_arrow();
  {
    auto const copy = to_tensor(
      *integer_schema().get(), array.get(), copy_policy::always, owner, stream.get(), pool_);
    EXPECT_GT(owner.use_count(), 1);
  }
  settle();
  EXPECT_EQ(owner.use_count(), 1);
}

TEST_F(tensor_order, to_tensor_does_not_consume_the_array_if_it_rejects_the_resource)
{
  auto const stream = lasting_stream{};
  auto array        = to_arrow(integer_column(stream.get(), {1, 2}), stream.get()).to_arrow();
  auto const copy   = [&](rmm::device_async_resource_ref resource) {
    return to_tensor(
      *integer_schema().get(), array.get(), copy_policy::always, nullptr, stream.get(), resource);
  };
  EXPECT_THROW((void)copy(far_pool_), cudf::data_type_error);
  ASSERT_FALSE(array.is_released());
  EXPECT_TRUE(copy(pool_).is_copy());
  EXPECT_TRUE(array.is_released());
}

TEST_F(tensor_order, lists_of_one_length_are_a_tensor_over_their_elements)
{
  auto const type   = list_of(flat("int32"));
  auto const values = rows{value{integer_rows({1, 2})}, value{integer_rows({3, 4})}};
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const far    = lasting_stream{};
    auto const stream = lasting_stream{};
    auto source       = column(type, values, far.get());
    auto const* data  = source->child(1).view().head<void>();
    auto array        = to_arrow(std::move(source), far.get()).to_arrow();
    auto const schema = make_schema(type);
    auto const tensor =
      to_tensor(*schema.get(), array.get(), copy_policy::never, nullptr, stream.get(), pool_);
    EXPECT_EQ(tensor.view().data, data);
    EXPECT_EQ(tensor.view().shape, (std::vector<std::int64_t>{2, 2}));
    EXPECT_EQ(tensor.view().strides, (std::vector<std::int64_t>{2, 1}));
    auto const seen = read_tensor_later(tensor.view().data, 4, stream.get());
    synchronize(stream.get());
    EXPECT_EQ(*seen, (integers_t{1, 2, 3, 4}));
  }
}

TEST_F(tensor_order, lists_of_several_lengths_are_not_a_tensor)
{
  auto const type   = list_of(flat("int32"));
  auto const stream = lasting_stream{};
  auto const values = rows{value{integer_rows({1, 2})},
                           value{integer_rows({3, 4})},
                           value{integer_rows({5})},
                           value{integer_rows({6, 7, 8})}};
  auto array        = to_arrow(column(type, values, stream.get()), stream.get()).to_arrow();
  auto const schema = make_schema(type);
  try {
    (void)to_tensor(*schema.get(), array.get(), copy_policy::never, nullptr, stream.get(), pool_);
    FAIL();
  } catch (cudf::data_type_error const& error) {
    EXPECT_NE(std::string_view{error.what()}.find("list 2 has 1 elements and list 0 has 2"),
              std::string_view::npos)
      << error.what();
  }
  EXPECT_FALSE(array.is_released());
}

TEST_F(tensor_order, row_major_tensors_are_interleaved_after_the_export)
{
  auto const type = struct_of({flat("int32"), flat("int32")});
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const far    = lasting_stream{};
    auto const stream = lasting_stream{};
    auto const values = rows{value{rows{number(1), number(4)}}, value{rows{number(2), number(5)}}};
    auto array        = to_arrow(column(type, values, far.get()), far.get()).to_arrow();
    auto const schema = make_schema(type);
    auto tensor       = to_tensor(*schema.get(),
                                  array.get(),
                                  copy_policy::as_needed,
                                  nullptr,
                                  stream.get(),
                                  pool_,
                                  cudf_arrow_bridge::tensor_order::row_major);
    EXPECT_TRUE(tensor.is_copy());
    EXPECT_EQ(tensor.view().strides, (std::vector<std::int64_t>{2, 1}));
    auto const reader = lasting_stream{};
    tensor.make_wait(cuda::stream_ref{reader.get()});
    auto const seen = read_tensor_later(tensor.view().data, 4, reader.get());
    synchronize(reader.get());
    EXPECT_EQ(*seen, (integers_t{1, 4, 2, 5}));
  }
}

TEST_F(tensor_order, tensors_become_lists_that_share_their_memory)
{
  auto const type = list_of(flat("int32"));
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const stream = lasting_stream{};
    auto source       = tensor_producer{stream.get(), {1, 2, 3, 4, 5, 6}, {2, 3}, {3, 1}};
    auto* const taken = source.produce();
    auto const* data  = taken->dl_tensor.data;
    auto const before = sim::host_syncs_here();
    auto imported =
      from_dlpack(taken, copy_policy::never, stream.get(), pool_, tensor_kind::column);
    EXPECT_EQ(sim::host_syncs_here(), before);
    auto const view = imported.table.view().column(0);
    EXPECT_EQ(view.child(1).head<void>(), data);
    auto const seen = read_later(view, type, stream.get());
    imported        = {};
    synchronize(stream.get());
    EXPECT_EQ(*seen, (rows{value{integer_rows({1, 2, 3})}, value{integer_rows({4, 5, 6})}}));
    settle();
    EXPECT_EQ(source.deleted(), 1);
  }
}

TEST_F(tensor_order, tensors_of_other_orders_are_gathered_to_lists)
{
  auto const type   = list_of(flat("int32"));
  auto const stream = lasting_stream{};
  // Shape 2 x 2 x 2, with the last two dimensions exchanged.
  auto source = tensor_producer{stream.get(), {0, 1, 2, 3, 4, 5, 6, 7}, {2, 2, 2}, {4, 1, 2}};
  auto imported =
    from_dlpack(source.produce(), copy_policy::as_needed, stream.get(), pool_, tensor_kind::column);
  auto const seen = read_later(imported.table.view().column(0), type, stream.get());
  synchronize(stream.get());
  EXPECT_EQ(*seen, (rows{value{integer_rows({0, 2, 1, 3})}, value{integer_rows({4, 6, 5, 7})}}));
}

TEST_F(tensor_order, dlpack_tensors_have_the_device_type_and_the_read_only_flag)
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

TEST_F(tensor_order, dlpack_tensors_keep_the_memory_until_deleted)
{
  auto const stream = lasting_stream{};
  auto const live   = sim::live_allocations();
  auto* managed =
    export_integers({1}, copy_policy::never, stream.get()).to_dlpack_versioned(ARROW_DEVICE_CUDA);
  EXPECT_GT(sim::live_allocations(), live);
  managed->deleter(managed);
  settle();
  EXPECT_EQ(sim::live_allocations(), live);
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

TEST_F(tensor_order, allocated_tensors_are_on_the_device_of_the_prototype)
{
  auto const values = integers_t{5, 6, 7};
  for (auto const device : {0, 1}) {
    for (auto seed = 0U; seed < many_seeds; ++seed) {
      sim::reset(seed);
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
    }
  }
}

TEST_F(tensor_order, tensors_are_allocated_only_in_cpu_and_cuda_memory)
{
  auto* host = allocate_integers({ARROW_DEVICE_CPU, 0}, 2);
  EXPECT_EQ(locate(host->dl_tensor.data).device_type, ARROW_DEVICE_CPU);
  host->deleter(host);
  for (auto const type : {ARROW_DEVICE_CUDA_HOST, ARROW_DEVICE_CUDA_MANAGED}) {
    EXPECT_THROW((void)allocate_integers({type, 0}, 2), std::invalid_argument);
  }
}

TEST_F(tensor_order, imports_wait_for_the_default_streams_of_all_threads)
{
  auto const values = integers_t{5, 6, 7, 8};
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const consumer = lasting_stream{};
    auto source         = std::optional<tensor_producer>{};
    std::thread{[&] {
      source.emplace(
        cudaStreamPerThread, values, std::vector<std::int64_t>{4}, std::vector<std::int64_t>{1});
    }}.join();
    auto const owner = own(source->produce());
    // The handle `cudaStreamPerThread` does not identify the thread of the stream.
    auto imported   = from_tensor(view_dlpack(owner.get()),
                                  owner,
                                  cuda::stream_ref{cudaStreamPerThread},
                                  copy_policy::never,
                                  consumer.get(),
                                  pool_);
    auto const seen = read_later(imported.table.view().column(0), flat("int32"), consumer.get());
    imported        = {};
    synchronize(consumer.get());
    EXPECT_EQ(*seen, integer_rows(values));
  }
}

TEST_F(tensor_order, imports_wait_for_the_producers_stream)
{
  auto const values = integers_t{5, 6, 7, 8};
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const far      = lasting_stream{};
    auto const consumer = lasting_stream{};
    auto source         = tensor_producer{far.get(), values, {4}, {1}};
    auto const owner    = own(source.produce());
    auto const before   = sim::host_syncs_here();
    auto imported       = from_tensor(view_dlpack(owner.get()),
                                      owner,
                                      cuda::stream_ref{far.get()},
                                      copy_policy::never,
                                      consumer.get(),
                                      pool_);
    EXPECT_EQ(sim::host_syncs_here(), before);
    auto const seen = read_later(imported.table.view().column(0), flat("int32"), consumer.get());
    imported        = {};
    synchronize(consumer.get());
    EXPECT_EQ(*seen, integer_rows(values));
  }
}

TEST_F(tensor_order, deleters_run_once_after_the_last_reader)
{
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const stream = lasting_stream{};
    auto source       = tensor_producer{stream.get(), {1, 2, 3, 4}, {2, 2}, {1, 2}};
    auto imported     = from_dlpack(source.produce(), copy_policy::never, stream.get(), pool_);
    EXPECT_TRUE(imported.is_table);
    auto slow       = std::optional<sim::slow_stream>{stream.get()};
    auto const seen = read_later(imported.table.view().column(1), flat("int32"), stream.get());
    imported        = {};
    EXPECT_EQ(source.deleted(), 0);
    slow.reset();
    settle();
    EXPECT_EQ(source.deleted(), 1);
    EXPECT_EQ(*seen, integer_rows({3, 4}));
  }
}

TEST_F(tensor_order, source_is_kept_until_the_gather_has_run)
{
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const stream = lasting_stream{};
    auto source       = tensor_producer{stream.get(), {1, 2, 3, 4, 5, 6}, {3, 2}, {2, 1}};
    auto slow         = std::optional<sim::slow_stream>{stream.get()};
    auto const before = sim::host_syncs_here();
    auto imported     = from_dlpack(source.produce(), copy_policy::as_needed, stream.get(), pool_);
    EXPECT_EQ(sim::host_syncs_here(), before);
    EXPECT_EQ(source.deleted(), 0);
    slow.reset();
    auto const seen = read_later(imported.table.view().column(1), flat("int32"), stream.get());
    imported        = {};
    settle();
    EXPECT_EQ(*seen, integer_rows({2, 4, 6}));
    EXPECT_EQ(source.deleted(), 1);
  }
}

TEST_F(tensor_order, rejected_tensors_are_deleted_once)
{
  auto const stream = lasting_stream{};
  auto source       = tensor_producer{stream.get(), {1, 2}, {2, 1, 1}, {1, 1, 1}};
  synchronize(stream.get());
  EXPECT_THROW((void)from_dlpack(source.produce(), copy_policy::as_needed, stream.get(), pool_),
               std::invalid_argument);
  EXPECT_EQ(source.deleted(), 1);
}

TEST_F(tensor_order, memory_of_another_device_requires_a_copy)
{
  auto const far  = stream_on(1);
  auto const here = lasting_stream{};
  auto refused    = tensor_producer{far->get(), {1, 2}, {2}, {1}, memory_kind::device, 1};
  EXPECT_THROW((void)from_dlpack(
                 refused.produce(ARROW_DEVICE_CUDA, 1), copy_policy::as_needed, here.get(), pool_),
               std::invalid_argument);
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    auto copied      = tensor_producer{far->get(), {1, 2}, {2}, {1}, memory_kind::device, 1};
    auto const owner = own(copied.produce(ARROW_DEVICE_CUDA, 1));
    auto imported    = from_tensor(view_dlpack(owner.get()),
                                   owner,
                                   cuda::stream_ref{far->get()},
                                   copy_policy::always,
                                   here.get(),
                                   pool_);
    auto const seen  = read_later(imported.table.view().column(0), flat("int32"), here.get());
    imported         = {};
    synchronize(here.get());
    EXPECT_EQ(*seen, integer_rows({1, 2}));
    settle();
  }
  settle();
}

TEST_F(tensor_order, view_dlpack_finds_the_device_of_managed_memory)
{
  auto const far = stream_on(1);
  auto source    = tensor_producer{far->get(), {7}, {1}, {1}, memory_kind::managed, 1};
  auto* managed  = source.produce(ARROW_DEVICE_CUDA_MANAGED, 0);
  EXPECT_EQ(view_dlpack(managed).location, (memory_location{ARROW_DEVICE_CUDA_MANAGED, 1}));
  sim::drain();
  managed->deleter(managed);
}

TEST_F(tensor_order, import_rejects_an_invalid_stream_of_the_producer)
{
  auto const stream = lasting_stream{};
  auto source       = tensor_producer{stream.get(), {1}, {1}, {1}};
  synchronize(stream.get());
  auto const owner = own(source.produce());
  auto const wrong = reinterpret_cast<cudaStream_t>(std::uintptr_t{8});
  EXPECT_THROW((void)from_tensor(view_dlpack(owner.get()),
                                 owner,
                                 cuda::stream_ref{wrong},
                                 copy_policy::as_needed,
                                 stream.get(),
                                 pool_),
               std::invalid_argument);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST_F(tensor_order, host_memory_is_uploaded_unless_the_policy_forbids_copies)
{
  auto const stream = lasting_stream{};
  auto values       = integers_t{1, 2, 3};
  auto const owner  = std::make_shared<int>(0);
  auto const view   = tensor_view{values.data(), {}, element_kind::integer, 32, {3}, {1}};
  EXPECT_THROW(
    (void)from_tensor(view, owner, std::nullopt, copy_policy::never, stream.get(), pool_),
    std::invalid_argument);
  auto imported =
    from_tensor(view, owner, std::nullopt, copy_policy::as_needed, stream.get(), pool_);
  auto const seen = read_later(imported.table.view().column(0), flat("int32"), stream.get());
  synchronize(stream.get());
  EXPECT_EQ(*seen, integer_rows(values));
  imported = {};
  // AddressSanitizer detects copies of more than the tensor's memory.
  auto grid       = integers_t{1, 2, 3, 4, 5, 6};
  auto const rows = tensor_view{grid.data(), {}, element_kind::integer, 32, {3, 2}, {2, 1}};
  imported = from_tensor(rows, owner, std::nullopt, copy_policy::as_needed, stream.get(), pool_);
  auto const turned = read_later(imported.table.view().column(1), flat("int32"), stream.get());
  synchronize(stream.get());
  EXPECT_EQ(*turned, integer_rows({2, 4, 6}));
  imported = {};
  settle();
  EXPECT_EQ(owner.use_count(), 1);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
