// SPDX-License-Identifier: Apache-2.0
/// @file
/// The core on the simulated runtime: locations, exports, imports and conversions.
#include "sim/pool_resource.hpp"
#include "sim/world_test.hpp"
#include "testing/expect_invariants.hpp"

#include <cudf_arrow_bridge/export.hpp>
#include <cudf_arrow_bridge/import.hpp>
#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/schema.hpp>

#include <cudf/column/column.hpp>
#include <cudf/types.hpp>

#include <rmm/device_buffer.hpp>
#include <rmm/mr/per_device_resource.hpp>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace cudf_arrow_bridge;
using sim::memory_kind;

constexpr auto many_seeds = 50U;

/// @return Whether a condition becomes true while the device and the core's threads run
template <typename Condition>
bool comes_true(Condition condition)
{
  constexpr auto patience = std::chrono::seconds{20};
  auto const end          = std::chrono::steady_clock::now() + patience;
  while (!condition() && std::chrono::steady_clock::now() < end) {
    sim::drain();
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return condition();
}

class core : public sim::world_test {
 protected:
  void SetUp() override
  {
    world_test::SetUp();
    rmm::mr::set_current_device_resource(pool_);
  }

  void TearDown() override
  {
    EXPECT_TRUE(comes_true([] { return sim::leftovers().empty(); }));
    rmm::mr::reset_current_device_resource();
    world_test::TearDown();
  }

  /// A buffer that a kernel on `stream` fills.
  template <typename T>
  rmm::device_buffer make_buffer(std::vector<T> values, cudaStream_t stream)
  {
    auto const size = values.size() * sizeof(T);
    auto result     = rmm::device_buffer{size, stream, pool_};
    sim::enqueue(stream, [data = result.data(), size, values = std::move(values)] {
      std::memcpy(data, values.data(), size);
    });
    return result;
  }

  template <typename T>
  std::unique_ptr<cudf::column> make_column(cudf::type_id type,
                                            std::vector<T> const& values,
                                            cudaStream_t stream)
  {
    return std::make_unique<cudf::column>(cudf::data_type{type},
                                          static_cast<cudf::size_type>(values.size()),
                                          make_buffer(values, stream),
                                          rmm::device_buffer{0, stream, pool_},
                                          0);
  }

  /// @return The values that a kernel on `stream` reads from a column
  template <typename T>
  static std::vector<T> read(cudf::column_view const& column, cudaStream_t stream)
  {
    auto result = std::vector<T>(static_cast<std::size_t>(column.size()));
    sim::enqueue(stream, [&result, column] {
      test::expect_invariants(column);
      std::memcpy(result.data(), column.data<T>(), result.size() * sizeof(T));
    });
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    return result;
  }

  device_array to_arrow(std::unique_ptr<cudf::column> column, cudaStream_t stream)
  {
    auto owner      = std::shared_ptr<cudf::column>{std::move(column)};
    auto const view = owner->view();
    return to_arrow_device(view, std::move(owner), {}, stream, pool_);
  }

  sim::pool_resource pool_{};
};

TEST_F(core, locate_returns_the_kind_and_the_device_of_memory)
{
  EXPECT_TRUE(has_gpu());
  auto const located = [](memory_kind kind) {
    auto* data           = static_cast<std::byte*>(sim::allocate(kind, 1, 100));
    auto const locations = std::pair{locate(data), locate(data + 99)};
    sim::deallocate(data);
    EXPECT_EQ(locations.first, locations.second);
    return locations.first;
  };
  EXPECT_EQ(located(memory_kind::device), (memory_location{ARROW_DEVICE_CUDA, 1}));
  EXPECT_EQ(located(memory_kind::managed), (memory_location{ARROW_DEVICE_CUDA_MANAGED, 1}));
  EXPECT_EQ(located(memory_kind::pinned), (memory_location{ARROW_DEVICE_CUDA_HOST, 1}));
  EXPECT_EQ(located(memory_kind::pageable), memory_location{});
}

TEST_F(core, export_shares_the_buffer_in_device_memory)
{
  auto const stream  = sim::stream{};
  auto column        = make_column<std::int32_t>(cudf::type_id::INT32, {1, 2, 3}, stream.get());
  auto const* values = column->view().head<void>();
  auto const array   = to_arrow(std::move(column), stream.get()).to_arrow();
  EXPECT_EQ(array->device_type, ARROW_DEVICE_CUDA);
  EXPECT_EQ(array->device_id, 0);
  EXPECT_EQ(array->array.buffers[1], values);
}

TEST_F(core, import_waits_for_the_event_and_release_waits_for_the_reader)
{
  auto const values = std::vector<std::int32_t>{5, 6, 7, 8};
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const producer = sim::stream{};
    auto const consumer = sim::stream{};
    auto* data          = sim::allocate(memory_kind::device, 0, values.size() * 4);
    auto ready          = cudaEvent_t{};
    EXPECT_EQ(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming), cudaSuccess);
    sim::enqueue(producer.get(), [&] { std::memcpy(data, values.data(), values.size() * 4); });
    EXPECT_EQ(cudaEventRecord(ready, producer.get()), cudaSuccess);

    void const* buffers[] = {nullptr, data};
    auto array            = ArrowDeviceArray{};
    array.array.length    = static_cast<std::int64_t>(values.size());
    array.array.n_buffers = 2;
    array.array.buffers   = static_cast<void const**>(buffers);
    array.device_type     = ARROW_DEVICE_CUDA;
    array.sync_event      = &ready;
    // The release callback overwrites the memory, as a producer may.
    array.array.private_data = data;
    array.array.release      = [](ArrowArray* released) {
      sim::deallocate(released->private_data);
      released->release = nullptr;
    };

    auto const like =
      cudf::column_view{cudf::data_type{cudf::type_id::INT32}, 0, nullptr, nullptr, 0};
    auto const schema = to_arrow_schema(like, {});
    auto imported     = from_arrow_device_column(*schema.get(), &array, {}, consumer.get(), pool_);
    EXPECT_EQ(imported.view().head<void>(), data);
    EXPECT_EQ(read<std::int32_t>(imported.view(), consumer.get()), values);

    auto late = std::vector<std::int32_t>(values.size());
    sim::enqueue(consumer.get(), [&] { std::memcpy(late.data(), data, late.size() * 4); });
    imported.storage.reset();
    EXPECT_TRUE(comes_true([] { return sim::live_allocations() == 0; }));
    EXPECT_EQ(cudaStreamSynchronize(consumer.get()), cudaSuccess);
    EXPECT_EQ(late, values);
    EXPECT_EQ(cudaEventDestroy(ready), cudaSuccess);
  }
}

TEST_F(core, bools_are_equal_after_export_and_import)
{
  auto const bools = std::vector<std::int8_t>{1, 0, 1, 1, 0, 0, 0, 1, 0, 1};
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const stream = sim::stream{};
    auto column       = make_column(cudf::type_id::BOOL8, bools, stream.get());
    auto const schema = to_arrow_schema(column->view(), {});
    auto array        = to_arrow(std::move(column), stream.get()).to_arrow();
    auto imported = from_arrow_device_column(*schema.get(), array.get(), {}, stream.get(), pool_);
    EXPECT_EQ(read<std::int8_t>(imported.view(), stream.get()), bools);
    imported.storage.reset();
    EXPECT_TRUE(comes_true([] { return sim::live_allocations() == 0; }));
  }
}

TEST_F(core, import_reads_the_last_offset_of_strings)
{
  auto const stream = sim::stream{};
  auto children     = std::vector<std::unique_ptr<cudf::column>>{};
  children.push_back(make_column<std::int32_t>(cudf::type_id::INT32, {0, 2, 5}, stream.get()));
  auto column =
    std::make_unique<cudf::column>(cudf::data_type{cudf::type_id::STRING},
                                   2,
                                   make_buffer<char>({'a', 'b', 'c', 'd', 'e'}, stream.get()),
                                   rmm::device_buffer{0, stream.get(), pool_},
                                   0,
                                   std::move(children));
  auto const schema = to_arrow_schema(column->view(), {});
  auto array        = to_arrow(std::move(column), stream.get()).to_arrow();
  auto imported     = from_arrow_device_column(*schema.get(), array.get(), {}, stream.get(), pool_);
  EXPECT_EQ(imported.storage->release().data->size(), 5U);
  // The buffers are freed on the stream, so wait before the stream is destroyed.
  EXPECT_TRUE(comes_true([] { return sim::live_allocations() == 0; }));
}

}  // namespace
