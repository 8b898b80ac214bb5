// SPDX-License-Identifier: Apache-2.0
/// @file
/// Copies of arrays wait for their source, keep it alive until the copy has run, and are on its
/// device. Slices share the memory, the event and the stream of their source.
#include "sim/tests/bridge_test.hpp"
#include "testing/consumer.hpp"

#include <rmm/error.hpp>
#include <rmm/mr/per_device_resource.hpp>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <thread>

namespace cudf_arrow_bridge::test {
namespace {

constexpr auto num_rows = 60;

class ArrayCopies : public bridge_test {
 protected:
  /// Exports rows from `begin` of a column that kernels fill. The array keeps the column alive.
  device_array exported(shape const& type,
                        rows const& values,
                        int begin,
                        cudaStream_t stream,
                        rmm::device_async_resource_ref mr)
  {
    auto owner      = late_column(type, values, stream, mr);
    auto const view = slice_later(owner->view(), begin, from(values, begin));
    source_         = owner;
    return to_arrow_device(view, std::move(owner), {}, stream, mr);
  }

  device_array exported(shape const& type, rows const& values, int begin, cudaStream_t stream)
  { return exported(type, values, begin, stream, pool_); }

  device_array copy_of(device_array const& array, cudaStream_t stream)
  { return array.copy(nullptr, stream, pool_); }

  static rows from(rows const& values, int begin)
  { return part(values, static_cast<std::size_t>(begin), values.size()); }

  [[nodiscard]] bool source_is_gone() const { return source_.expired(); }

 private:
  std::weak_ptr<cudf::column> source_;
};

TEST_F(ArrayCopies, ReadTheSourceAfterItsEvent)
{
  for (auto const& type : shapes_of_each_layout()) {
    auto const values = samples(type, num_rows, 30);
    for (auto const begin : {0, 5}) {
      for_seeds(many_seeds / 2, [&](cudaStream_t made, cudaStream_t used) {
        // The source is freed on its own stream, which does not wait for the copies.
        auto const copy = copy_of(exported(type, values, begin, made), used);
        EXPECT_EQ(read_behind_event(copy, type), from(values, begin)) << type.name << begin;
      });
    }
  }
}

TEST_F(ArrayCopies, OfExportsKeepTheirOwnerAndNotTheSource)
{
  auto const type   = flat("bool8");
  auto const values = samples(type, num_rows, 30);
  auto const owner  = std::make_shared<int>(1);
  for_seeds(many_seeds, [&](cudaStream_t made, cudaStream_t stream) {
    auto source     = column(type, values, made);
    auto const gone = std::weak_ptr{source};
    auto const view = source->view();
    synchronize(made);
    auto copy = to_arrow_device(
      view, std::move(source), {.copy = copy_policy::always, .copy_owner = owner}, stream, pool_);
    EXPECT_EQ(read_behind_event(copy, type), values);
    drain_releases();
    EXPECT_TRUE(gone.expired());
    EXPECT_EQ(owner.use_count(), 2);
    copy.reset();
    EXPECT_EQ(owner.use_count(), 1);
  });
}

TEST_F(ArrayCopies, OfAChildHaveItsRowsAndDoNotKeepTheSource)
{
  auto const text   = flat("string");
  auto const type   = struct_of({flat("int16"), text});
  auto const values = samples(type, num_rows, 0);
  auto const stream = lasting_stream{};
  auto const copy   = copy_of(exported(type, values, 5, stream.get()).child(1), stream.get());
  settle();
  EXPECT_TRUE(source_is_gone());
  EXPECT_EQ(read_behind_event(copy, text), field_rows(values, 1, {}))
    << "a field has the rows before the slice, too";
}

TEST_F(ArrayCopies, WaitOnceForTheSizesOfAllStrings)
{
  auto const stream = lasting_stream{};
  for (auto const& [type, waits] :
       {std::pair{struct_of({flat("int32"), flat("bool8"), list_of(flat("int8"))}), 0U},
        std::pair{struct_of({flat("string"), list_of(flat("string"))}), 1U}}) {
    auto const array  = exported(type, samples(type, num_rows, 30), 5, stream.get());
    auto const before = sim::host_syncs_here();
    auto const copy   = copy_of(array, stream.get());
    EXPECT_EQ(sim::host_syncs_here(), before + waits);
  }
}

TEST_F(ArrayCopies, UseTheCurrentResourceOfTheSourcesDevice)
{
  auto const text   = flat("string");
  auto const values = samples(text, num_rows, 30);
  auto managed      = sim::pool_resource{memory_kind::managed, 1};
  for (auto const& [far, type] :
       {std::pair{&far_pool_, ARROW_DEVICE_CUDA}, std::pair{&managed, ARROW_DEVICE_CUDA_MANAGED}}) {
    rmm::mr::set_per_device_resource(rmm::cuda_device_id{1}, *far);
    auto const stream = stream_on(1);
    // Each device has its own default stream.
    for (auto* const used : {stream->get(), cudaStream_t{}}) {
      auto guard       = std::optional<on_device>{std::in_place, rmm::cuda_device_id{1}};
      auto const array = exported(text, values, 3, used, *far);
      guard.reset();
      auto const mr   = rmm::mr::get_current_device_resource_ref();
      auto const copy = array.copy(nullptr, used, mr);
      EXPECT_EQ(rmm::get_current_cuda_device().value(), 0);
      EXPECT_EQ(copy.location(), (memory_location{type, 1}));
      for (auto const& buffer : copy.buffers()) {
        EXPECT_EQ(locate(buffer.address), copy.location());
      }
      EXPECT_EQ(read_behind_event(copy, text), from(values, 3));
    }
  }
}

TEST_F(ArrayCopies, OfEmptyArraysAreOnTheDevice)
{
  auto const stream = lasting_stream{};
  auto const type   = flat("null");
  auto const copy   = copy_of(exported(struct_of({type}), {}, 0, stream.get()), stream.get());
  EXPECT_EQ(copy.location(), (memory_location{ARROW_DEVICE_CUDA, 0}));
  EXPECT_EQ(read_behind_event(copy, struct_of({type})), rows{});
}

TEST_F(ArrayCopies, OfHostArraysAreInHostMemory)
{
  auto const values = samples(flat("string"), num_rows, 30);
  auto host         = std::shared_ptr<cudf::column>{make_column(flat("string"), values)};
  auto const gone   = std::weak_ptr{host};
  auto const view   = host->view();
  auto const used   = lasting_stream{};
  auto const slow   = sim::slow_stream{used.get()};
  auto array        = to_arrow_device(view, std::move(host), {}, used.get(), pool_);
  auto const copy   = copy_of(array, used.get());
  array.reset();
  EXPECT_TRUE(gone.expired()) << "immediately, because no stream reads it";
  EXPECT_EQ(copy.location(), memory_location{});
  auto const structs = copy.to_arrow();
  EXPECT_EQ(structs->sync_event, nullptr);
  EXPECT_EQ(read_arrow(structs->array, flat("string")), values);
}

TEST_F(ArrayCopies, FailedCopyFreesItsMemory)
{
  auto const type   = struct_of({flat("int32"), flat("string")});
  auto const values = samples(type, 20, 30);
  for (auto after = 0; after < 4; ++after) {
    sim::reset(1);
    auto const stream    = lasting_stream{};
    auto array           = exported(type, values, 3, stream.get());
    auto const allocated = sim::live_allocations();
    sim::fail_next("cudaMemcpyAsync", cudaErrorInvalidValue, after);
    EXPECT_THROW((void)copy_of(array, stream.get()), rmm::cuda_error);
    sim::drain();
    EXPECT_EQ(sim::live_allocations(), allocated);
    EXPECT_EQ(read_behind_event(array, type), from(values, 3));
    array.reset();
    settle();
    EXPECT_TRUE(source_is_gone());
  }
}

using ArraySlices = ArrayCopies;

TEST_F(ArraySlices, ShareTheEventOfTheSourceAndKeepItAlive)
{
  for (auto const& type : shapes_of_each_layout()) {
    auto const values   = samples(type, num_rows, 30);
    auto const expected = part(values, 12, 32);
    for_seeds(many_seeds / 2, [&](cudaStream_t stream) {
      auto array = exported(type, values, 5, stream);
      auto slice = array.slice(7, 20, false);
      EXPECT_EQ(slice.location(), array.location());
      array.reset();
      settle();
      EXPECT_FALSE(source_is_gone());
      EXPECT_EQ(read_behind_event(slice, type), expected) << type.name;
      EXPECT_EQ(slice.null_count(), count_nulls(expected));
      slice.reset();
      settle();
      EXPECT_TRUE(source_is_gone());
    });
  }
}

TEST_F(ArraySlices, WaitOnlyToCountNulls)
{
  auto const stream = lasting_stream{};
  auto const type   = flat("int32");
  for (auto const percent : {0, 30}) {
    auto const array  = exported(type, samples(type, num_rows, percent), 0, stream.get());
    auto const before = sim::host_syncs_here();
    (void)array.slice(0, num_rows, false);
    EXPECT_EQ(sim::host_syncs_here(), before);
    (void)array.slice(3, 20, false);
    EXPECT_EQ(sim::host_syncs_here() > before, percent > 0);
  }
}

TEST_F(ArraySlices, CountNullsAfterTheWorkOfTheExportingThread)
{
  auto const type   = flat("int32");
  auto const values = samples(type, num_rows, 30);
  for_seeds(many_seeds, [&] {
    auto const array = exported(type, values, 0, cudaStreamPerThread);
    auto found       = std::int64_t{-1};
    std::thread{[&] { found = array.slice(3, 20, false).null_count(); }}.join();
    EXPECT_EQ(found, count_nulls(part(values, 3, 23)));
  });
}

TEST_F(ArraySlices, SliceAndSelectRejectInvalidRangesAndColumns)
{
  auto const stream = lasting_stream{};
  auto const array  = to_arrow(integer_column(stream.get(), {1, 2, 3}), stream.get());
  for (auto const& [offset, length] :
       {std::pair{-1, 1}, std::pair{4, 0}, std::pair{2, 2}, std::pair{0, -1}}) {
    EXPECT_THROW((void)array.slice(offset, length, false), std::out_of_range);
  }
  EXPECT_THROW((void)array.slice(0, 1, true), std::invalid_argument);
  auto const first = std::vector<std::size_t>{0};
  EXPECT_THROW((void)array.select(first), std::invalid_argument);
  auto const type    = struct_of({flat("int32"), flat("string")});
  auto const structs = exported(type, samples(type, 9, 0), 0, stream.get());
  auto const third   = std::vector<std::size_t>{2};
  EXPECT_THROW((void)structs.select(third), std::out_of_range);
  auto const swapped = std::vector<std::size_t>{1, 0};
  EXPECT_EQ(structs.select(swapped).child(0).buffers().size(), 3U);
  EXPECT_THROW((void)device_array{}.slice(0, 0, false), std::invalid_argument);
  EXPECT_THROW((void)device_array{}.select(first), std::invalid_argument);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
