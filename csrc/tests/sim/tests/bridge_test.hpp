// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shared code of the tests of the core on the simulation: columns that kernels fill, and a
/// producer that overwrites its memory when it is released.
#pragma once

#include "cuda/ordering/events.hpp"
#include "cuda/release/deferred_release.hpp"
#include "cuda/transfer/staging.hpp"
#include "sim/pool_resource.hpp"
#include "sim/world_test.hpp"
#include "testing/columns.hpp"
#include "testing/expect_invariants.hpp"
#include "testing/reading.hpp"
#include "testing/sample.hpp"
#include "testing/views.hpp"

#include <cudf_arrow_bridge/export.hpp>
#include <cudf_arrow_bridge/import.hpp>
#include <cudf_arrow_bridge/release.hpp>
#include <cudf_arrow_bridge/schema.hpp>

#include <rmm/cuda_device.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::test {

using sim::memory_kind;
using integers_t = std::vector<std::int32_t>;

/// Makes a device current during its lifetime.
using on_device = rmm::cuda_set_device_raii;

/// A device buffer that a kernel fills from a host buffer, which `owner` keeps alive.
inline rmm::device_buffer fill_later(void const* source,
                                     std::size_t size,
                                     std::shared_ptr<void const> owner,
                                     cudaStream_t stream,
                                     rmm::device_async_resource_ref mr)
{
  auto result = rmm::device_buffer{size, stream, mr};
  if (size > 0) {
    sim::enqueue(stream, [target = result.data(), source, size, owner = std::move(owner)] {
      std::memcpy(target, source, size);
    });
  }
  return result;
}

/// Copies a host column to a device; kernels fill its buffers.
inline std::unique_ptr<cudf::column> upload_column(std::unique_ptr<cudf::column> host,
                                                   cudaStream_t stream,
                                                   rmm::device_async_resource_ref mr)
{
  auto const type  = host->type();
  auto const size  = host->size();
  auto const nulls = host->null_count();
  auto contents    = host->release();
  auto const later = [&](std::unique_ptr<rmm::device_buffer> buffer) {
    auto const owner = std::shared_ptr<rmm::device_buffer>{std::move(buffer)};
    return fill_later(owner->data(), owner->size(), owner, stream, mr);
  };
  auto children = std::vector<std::unique_ptr<cudf::column>>{};
  for (auto& child : contents.children) {
    children.push_back(upload_column(std::move(child), stream, mr));
  }
  auto data = later(std::move(contents.data));
  auto mask = later(std::move(contents.null_mask));
  return std::make_unique<cudf::column>(
    type, size, std::move(data), std::move(mask), nulls, std::move(children));
}

/// Slices a column. The null count is that of `values`, because the mask may not be filled yet.
inline cudf::column_view slice_later(cudf::column_view const& column,
                                     cudf::size_type begin,
                                     rows const& values)
{
  auto const nulls =
    std::count_if(values.begin(), values.end(), [](auto const& v) { return v.is_null(); });
  return {column.type(),
          static_cast<cudf::size_type>(values.size()),
          column.head<void>(),
          column.null_mask(),
          static_cast<cudf::size_type>(nulls),
          column.offset() + begin,
          {column.child_begin(), column.child_end()}};
}

/// Rows that a kernel reads; empty until it has run.
using late_rows = std::shared_ptr<rows>;

/// Adds the allocations that contain the buffers of a column.
inline void add_allocations(cudf::column_view const& column,
                            std::vector<std::span<std::byte const>>& all)
{
  all.push_back(sim::allocation_of(column.head<void>()));
  all.push_back(sim::allocation_of(column.null_mask()));
  std::for_each(column.child_begin(), column.child_end(), [&](auto const& child) {
    add_allocations(child, all);
  });
}

/// Enqueues a kernel that reads a column and checks libcudf's invariants.
inline late_rows read_later(cudf::column_view const& column,
                            shape const& type,
                            cudaStream_t stream,
                            bool sanitized = true)
{
  auto result = std::make_shared<rows>();
  // Look the allocations up now: when the kernel runs, the memory may have been reused.
  auto allocations = std::vector<std::span<std::byte const>>{};
  add_allocations(column, allocations);
  auto const allocation_of = [allocations](void const* address) {
    auto const* const byte = static_cast<std::byte const*>(address);
    auto const found =
      std::find_if(allocations.begin(), allocations.end(), [byte](auto const& one) {
        return byte >= one.data() && byte < one.data() + one.size();
      });
    return found == allocations.end() ? std::span<std::byte const>{} : *found;
  };
  sim::enqueue(stream, [=] {
    expect_invariants(
      column, {.sanitized = sanitized, .max_alignment = 16, .allocation_of = allocation_of});
    *result = read_rows(column, type);
    if (sanitized) { EXPECT_EQ(read_taken_apart(column, type), *result); }
  });
  return result;
}

inline rows integer_rows(integers_t const& values)
{
  auto result = rows{};
  for (auto const v : values) { result.push_back(number(v)); }
  return result;
}

inline unique_schema schema_of(cudf::column_view const& column)
{ return to_arrow_schema(column, {}); }

inline unique_schema integer_schema()
{ return schema_of({cudf::data_type{cudf::type_id::INT32}, 0, nullptr, nullptr, 0}); }

/**
 * @brief An array of integers of another library, computed on a stream, with an event.
 *
 * Its release callback overwrites the memory at once, so that it may be reused.
 */
class producer {
 public:
  explicit producer(cudaStream_t stream,
                    integers_t values = {1, 2, 3, 4},
                    memory_kind kind  = memory_kind::device,
                    int device        = 0)
    : state_{std::make_shared<state>()}
  {
    auto const guard = on_device{rmm::cuda_device_id{device}};
    auto const size  = values.size() * sizeof(std::int32_t);
    state_->data     = sim::allocate(kind, device, size);
    state_->buffers  = {nullptr, state_->data};
    EXPECT_EQ(cudaEventCreateWithFlags(&state_->ready, cudaEventDisableTiming), cudaSuccess);
    array.array.length       = static_cast<std::int64_t>(values.size());
    array.array.n_buffers    = 2;
    array.array.buffers      = state_->buffers.data();
    array.array.private_data = new std::shared_ptr<state>{state_};
    array.array.release      = &release;
    array.device_type        = kind == memory_kind::pinned    ? ARROW_DEVICE_CUDA_HOST
                               : kind == memory_kind::managed ? ARROW_DEVICE_CUDA_MANAGED
                                                              : ARROW_DEVICE_CUDA;
    array.device_id          = device;
    array.sync_event         = &state_->ready;
    sim::enqueue(stream, [target = state_->data, size, values = std::move(values)] {
      std::memcpy(target, values.data(), size);
    });
    EXPECT_EQ(cudaEventRecord(state_->ready, stream), cudaSuccess);
  }

  producer(producer const&)            = delete;
  producer& operator=(producer const&) = delete;

  ~producer()
  {
    if (array.array.release != nullptr) { array.array.release(&array.array); }
  }

  [[nodiscard]] int released() const { return state_->released; }

  [[nodiscard]] void* data() const { return state_->data; }

  /// Sets a function that the release callback also calls.
  void when_released(std::function<void()> action) { state_->action = std::move(action); }

  ArrowDeviceArray array{};

 private:
  struct state {
    void* data{nullptr};
    std::array<void const*, 2> buffers{};
    cudaEvent_t ready{};
    std::function<void()> action{[] {}};
    std::atomic<int> released{0};
  };

  static void release(ArrowArray* array)
  {
    auto* held = static_cast<std::shared_ptr<state>*>(array->private_data);
    auto all   = std::unique_ptr<std::shared_ptr<state>>{held};
    (*all)->action();
    sim::deallocate((*all)->data);
    EXPECT_EQ(cudaEventDestroy((*all)->ready), cudaSuccess);
    (*all)->action = {};
    ++(*all)->released;
    array->release = nullptr;
  }

  std::shared_ptr<state> state_;
};

/// Waits for all releases, and for the releases that these cause.
inline void settle()
{
  for (auto chain = 0; chain < 8; ++chain) {
    drain_releases();
    sim::drain();
    if (sim::live_allocations() == 0 && detail::events_in_use() == 0) { return; }
  }
}

/// A stream whose destructor waits for all releases, because producers free memory on it.
class lasting_stream : public sim::stream {
 public:
  using sim::stream::stream;
  ~lasting_stream() { settle(); }
};

/// The number of seeds, and so of orders of operations, that a test tries.
inline constexpr auto many_seeds = 50U;

/// A stream of another device than the current one.
inline std::unique_ptr<lasting_stream> stream_on(int device)
{
  auto const guard = on_device{rmm::cuda_device_id{device}};
  return std::make_unique<lasting_stream>();
}

/// One type of each layout of exports.
inline std::vector<shape> shapes_of_each_layout()
{
  return {flat("int32"),
          flat("bool8"),
          flat("string"),
          list_of(list_of(flat("string"))),
          struct_of({flat("int16"), list_of(flat("int8"))}),
          dictionary_of(flat("string"))};
}

/// Expects that no memory, stream or event of the core is left at the end.
class bridge_test : public sim::world_test {
 protected:
  void SetUp() override
  {
    world_test::SetUp();
    rmm::mr::set_per_device_resource(rmm::cuda_device_id{0}, pool_);
    rmm::mr::set_per_device_resource(rmm::cuda_device_id{1}, far_pool_);
    // The first upload and the first read-back pin memory and may wait. Tests must not count that.
    for (auto const kind : {detail::transfer_kind::body, detail::transfer_kind::read_back}) {
      EXPECT_NE((detail::pinned_memory{1, 1, kind}.data()), nullptr);
    }
  }

  void TearDown() override
  {
    settle();
    EXPECT_EQ(detail::events_in_use(), 0U);
    rmm::mr::reset_per_device_resource(rmm::cuda_device_id{0});
    rmm::mr::reset_per_device_resource(rmm::cuda_device_id{1});
    world_test::TearDown();
  }

  static void synchronize(cudaStream_t stream)
  { EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess); }

  std::unique_ptr<cudf::column> column(shape const& type, rows const& values, cudaStream_t stream)
  { return upload_column(make_column(type, values), stream, pool_); }

  std::unique_ptr<cudf::column> integer_column(cudaStream_t stream, integers_t const& values = {1})
  { return column(flat("int32"), integer_rows(values), stream); }

  device_array to_arrow(std::shared_ptr<cudf::column> owner, cudaStream_t stream)
  {
    auto const view = owner->view();
    return to_arrow_device(view, std::move(owner), {}, stream, pool_);
  }

  imported_column import(ArrowDeviceArray* array,
                         ArrowSchema const& schema,
                         cudaStream_t stream,
                         import_options const& options = {})
  { return from_arrow_device_column(schema, array, options, stream, pool_); }

  imported_column import(producer& source, cudaStream_t stream, import_options const& options = {})
  { return import(&source.array, *integer_schema().get(), stream, options); }

  sim::pool_resource pool_{};
  sim::pool_resource far_pool_{memory_kind::device, 1};
};

/// Empties the core's event pool of the current device, so that the next event has to be created.
class empty_pool {
 public:
  empty_pool()
  {
    auto const made = sim::live_events();
    while (sim::live_events() == made) { taken_.push_back(detail::pooled_event::acquire()); }
  }

 private:
  std::vector<detail::pooled_event> taken_;
};

}  // namespace cudf_arrow_bridge::test
