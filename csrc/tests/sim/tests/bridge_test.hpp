// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shared code of the tests of the core on the simulation: seeds, columns that kernels fill, and
/// kernels that read.
#pragma once

#include "cuda/ordering/events.hpp"
#include "cuda/release/deferred_release.hpp"
#include "cuda/transfer/staging.hpp"
#include "sim/pool_resource.hpp"
#include "sim/tests/device_producer.hpp"
#include "sim/upload_column.hpp"
#include "sim/world_test.hpp"
#include "testing/arrow_schema.hpp"
#include "testing/columns.hpp"
#include "testing/consumer.hpp"
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
#include <concepts>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::test {

/// A column of a device that kernels fill.
inline std::shared_ptr<cudf::column> late_column(shape const& type,
                                                 rows const& values,
                                                 cudaStream_t stream,
                                                 rmm::device_async_resource_ref mr)
{ return sim::upload(make_column(type, values), {false, stream, mr}); }

inline cudf::size_type count_nulls(rows const& values)
{
  return static_cast<cudf::size_type>(
    std::count_if(values.begin(), values.end(), [](auto const& v) { return v.is_null(); }));
}

/// Slices a column. The null count is that of `values`, because the mask may not be filled yet.
inline cudf::column_view slice_later(cudf::column_view const& column,
                                     cudf::size_type begin,
                                     rows const& values)
{
  return {column.type(),
          static_cast<cudf::size_type>(values.size()),
          column.head<void>(),
          column.null_mask(),
          count_nulls(values),
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

/// Rows of a table: structs that are not null, with random fields.
inline rows table_samples(shape const& type, std::size_t count, int null_percent)
{
  auto random = engine{1};
  auto result = rows{};
  for (std::size_t row = 0; row < count; ++row) {
    auto items = rows{};
    for (auto const& field : type.children) {
      items.push_back(sample(field, random, null_percent));
    }
    result.push_back({std::move(items)});
  }
  return result;
}

inline rows integer_rows(integers_t const& values)
{
  auto result = rows{};
  for (auto const v : values) { result.push_back(number(v)); }
  return result;
}

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

/// Calls `body` for each seed, with a new machine, until a check fails. The arguments of `body` are
/// the seed or up to three new streams of device 0.
template <typename Body>
void for_seeds(unsigned count, Body body)
{
  for (auto seed = 0U; seed < count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    sim::reset(seed);
    if constexpr (std::invocable<Body, unsigned>) {
      body(seed);
    } else if constexpr (std::invocable<Body>) {
      body();
    } else if constexpr (std::invocable<Body, cudaStream_t>) {
      body(lasting_stream{}.get());
    } else if constexpr (std::invocable<Body, cudaStream_t, cudaStream_t>) {
      body(lasting_stream{}.get(), lasting_stream{}.get());
    } else {
      body(lasting_stream{}.get(), lasting_stream{}.get(), lasting_stream{}.get());
    }
  }
}

/// A stream of another device than the current one.
inline std::unique_ptr<lasting_stream> stream_on(int device)
{
  auto const guard = on_device{rmm::cuda_device_id{device}};
  return std::make_unique<lasting_stream>();
}

/// The message of the exception that `run` throws; empty if it throws none.
template <typename Exception = std::invalid_argument, typename Run>
std::string message_of(Run run)
{
  try {
    run();
  } catch (Exception const& error) {
    return error.what();
  }
  return "";
}

inline void expect_in(std::string const& part, std::string const& whole)
{ EXPECT_NE(whole.find(part), std::string::npos) << "'" << part << "' is not in: " << whole; }

inline cudaEvent_t event_of(unique_device_array const& array)
{ return *static_cast<cudaEvent_t*>(array->sync_event); }

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

  std::shared_ptr<cudf::column> column(shape const& type,
                                       rows const& values,
                                       cudaStream_t stream,
                                       int device = 0)
  {
    auto const guard = on_device{rmm::cuda_device_id{device}};
    return late_column(type, values, stream, device == 0 ? pool_ : far_pool_);
  }

  std::shared_ptr<cudf::column> integer_column(cudaStream_t stream, integers_t const& values = {1})
  { return column(flat("int32"), integer_rows(values), stream); }

  device_array to_arrow(std::shared_ptr<cudf::column> owner, cudaStream_t stream)
  {
    auto const view = owner->view();
    return to_arrow_device(view, std::move(owner), {}, stream, pool_);
  }

  /// Exports a column of a device that kernels on `stream` fill.
  device_array export_rows(shape const& type,
                           rows const& values,
                           cudaStream_t stream,
                           int device = 0)
  {
    auto const guard = on_device{rmm::cuda_device_id{device}};
    auto owner       = column(type, values, stream, device);
    auto const view  = owner->view();
    return to_arrow_device(view, std::move(owner), {}, stream, device == 0 ? pool_ : far_pool_);
  }

  imported_column import(ArrowDeviceArray* array,
                         ArrowSchema const& schema,
                         cudaStream_t stream,
                         import_options const& options = {})
  { return from_arrow_device_column(schema, array, options, stream, pool_); }

  imported_column import(unique_device_array& array,
                         shape const& type,
                         cudaStream_t stream,
                         import_options const& options = {})
  { return import(array.get(), *make_schema(type).get(), stream, options); }

  imported_column import(producer& source, cudaStream_t stream, import_options const& options = {})
  { return import(&source.array, *make_schema(flat("int32")).get(), stream, options); }

  imported_table import_table(unique_device_array& array,
                              shape const& type,
                              cudaStream_t stream,
                              import_options const& options = {})
  { return from_arrow_device_table(*make_schema(type).get(), array.get(), options, stream, pool_); }

  /// Expects the rows that a kernel on `stream` reads.
  static void expect_rows(cudf::column_view const& column,
                          shape const& type,
                          rows const& expected,
                          cudaStream_t stream)
  {
    auto const seen = read_later(column, type, stream);
    synchronize(stream);
    EXPECT_EQ(*seen, expected) << type.name;
  }

  /// As above, for an import that is freed before the kernel has run.
  static void expect_rows(imported_column&& imported,
                          shape const& type,
                          rows const& expected,
                          cudaStream_t stream,
                          bool sanitized = true)
  {
    auto const seen = read_later(imported.view(), type, stream, sanitized);
    imported        = {};
    synchronize(stream);
    EXPECT_EQ(*seen, expected) << type.name;
  }

  /// Reads an array on a new stream, which waits only for the event of the array.
  static rows read_behind_event(device_array const& array, shape const& type)
  {
    auto const consumer = lasting_stream{};
    auto const structs  = array.to_arrow();
    EXPECT_EQ(cudaStreamWaitEvent(consumer.get(), event_of(structs)), cudaSuccess);
    auto result = rows{};
    sim::enqueue(consumer.get(), [&] { result = read_arrow(structs->array, type); });
    synchronize(consumer.get());
    return result;
  }

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
