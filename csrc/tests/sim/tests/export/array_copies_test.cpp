// SPDX-License-Identifier: Apache-2.0
/// @file
/// Copies of arrays read what their source will hold, keep it until then, and are on its device.
#include "sim/tests/bridge_test.hpp"
#include "testing/consumer.hpp"

#include <rmm/error.hpp>
#include <rmm/mr/per_device_resource.hpp>

#include <optional>

namespace cudf_arrow_bridge::test {
namespace {

constexpr auto num_rows = 60;

class array_copies : public bridge_test {
 protected:
  /// Rows from `begin` of a column that kernels fill, as an array that keeps the column.
  device_array exported(shape const& type,
                        rows const& values,
                        int begin,
                        cudaStream_t stream,
                        rmm::device_async_resource_ref mr)
  {
    *source_is_gone_ = false;
    auto owner =
      std::shared_ptr<cudf::column>{upload_column(make_column(type, values), stream, mr)};
    auto const view = slice_later(owner->view(), begin, from(values, begin));
    auto tracked    = std::shared_ptr<void const>{
      owner.get(), [owner, gone = source_is_gone_](void const*) { *gone = true; }};
    return to_arrow_device(view, std::move(tracked), {}, cuda::stream_ref{stream}, mr);
  }

  device_array exported(shape const& type, rows const& values, int begin, cudaStream_t stream)
  { return exported(type, values, begin, stream, pool_); }

  device_array copy_of(device_array const& array, cudaStream_t stream)
  { return array.copy(nullptr, cuda::stream_ref{stream}, pool_); }

  static rows from(rows const& values, int begin)
  { return part(values, static_cast<std::size_t>(begin), values.size()); }

  /// What another stream reads that waits for nothing but the event.
  static rows read_behind_event(device_array const& array, shape const& type)
  {
    auto const consumer = lasting_stream{};
    auto const structs  = array.to_arrow();
    auto result         = rows{};
    if (structs->sync_event == nullptr) {
      ADD_FAILURE() << "no event";
      return result;
    }
    auto const event = *static_cast<cudaEvent_t*>(structs->sync_event);
    EXPECT_EQ(cudaStreamWaitEvent(consumer.get(), event), cudaSuccess);
    sim::enqueue(consumer.get(), [&] { result = read_arrow(structs->array, type); });
    synchronize(consumer.get());
    return result;
  }

  [[nodiscard]] bool source_is_gone() const { return *source_is_gone_; }

 private:
  std::shared_ptr<bool> source_is_gone_{std::make_shared<bool>(false)};
};

TEST_F(array_copies, read_what_another_stream_writes_before)
{
  for (auto const& type : shapes_of_each_layout()) {
    auto const values = samples(type, num_rows, 30);
    for (auto const begin : {0, 5}) {
      for (auto seed = 0U; seed < many_seeds / 2; ++seed) {
        sim::reset(seed);
        auto const made = lasting_stream{};
        auto const used = lasting_stream{};
        // The source is freed on the stream that it was made on, which does not wait for copies.
        auto const copy = copy_of(exported(type, values, begin, made.get()), used.get());
        ASSERT_EQ(read_behind_event(copy, type), from(values, begin))
          << type.name << " from " << begin << ", seed " << seed;
      }
    }
  }
}

TEST_F(array_copies, of_children_need_nothing_of_the_others)
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

TEST_F(array_copies, keep_their_source_until_they_are_done)
{
  auto const type   = flat("int32");
  auto const values = samples(type, num_rows, 30);
  auto const stream = lasting_stream{};
  auto array        = exported(type, values, 3, stream.get());
  auto slow         = std::optional<sim::slow_stream>{stream.get()};
  auto const copy   = copy_of(array, stream.get());
  array.reset();
  sim::drain();
  EXPECT_FALSE(source_is_gone());
  slow.reset();
  settle();
  EXPECT_TRUE(source_is_gone()) << "the copy needs it no more";
  EXPECT_EQ(read_behind_event(copy, type), from(values, 3));
}

TEST_F(array_copies, keep_their_owner_as_long_as_any_struct_of_them)
{
  auto const stream = lasting_stream{};
  auto const owner  = std::make_shared<int>(1);
  auto const array  = to_arrow(integer_column(stream.get(), {1, 2, 3}), stream.get());
  auto copy         = array.copy(owner, cuda::stream_ref{stream.get()}, pool_);
  auto structs      = std::optional{copy.to_arrow()};
  copy.reset();
  settle();
  EXPECT_EQ(owner.use_count(), 2);
  structs.reset();
  settle();
  EXPECT_EQ(owner.use_count(), 1);
}

TEST_F(array_copies, wait_once_for_all_strings)
{
  auto const stream = lasting_stream{};
  for (auto const& [type, waits] :
       {std::pair{struct_of({flat("int32"), flat("bool8"), list_of(flat("int8"))}), 0U},
        std::pair{struct_of({flat("string"), list_of(flat("string"))}), 1U}}) {
    auto const array  = exported(type, samples(type, num_rows, 30), 5, stream.get());
    auto const before = sim::host_syncs_here();
    auto const copies = sim::calls("cudaStreamSynchronize");
    auto const copy   = copy_of(array, stream.get());
    EXPECT_EQ(sim::calls("cudaStreamSynchronize"), copies + waits);
    if (waits == 0) { EXPECT_EQ(sim::host_syncs_here(), before); }
  }
}

TEST_F(array_copies, are_on_the_memorys_device_and_by_its_resource)
{
  auto managed = sim::pool_resource{memory_kind::managed, 1};
  for (auto const& [far, type] :
       {std::pair{&far_pool_, ARROW_DEVICE_CUDA}, std::pair{&managed, ARROW_DEVICE_CUDA_MANAGED}}) {
    rmm::mr::set_per_device_resource(rmm::cuda_device_id{1}, *far);
    auto const stream = stream_on(1);
    // A default stream is another one on each device.
    for (auto* const used : {stream->get(), cudaStream_t{}}) {
      auto const text   = flat("string");
      auto const values = samples(text, num_rows, 30);
      auto guard        = std::optional<on_device>{std::in_place, rmm::cuda_device_id{1}};
      auto const array  = exported(text, values, 3, used, *far);
      guard.reset();
      auto const mr   = rmm::mr::get_current_device_resource_ref();
      auto const copy = array.copy(nullptr, cuda::stream_ref{used}, mr);
      EXPECT_EQ(rmm::get_current_cuda_device().value(), 0);
      EXPECT_EQ(copy.location(), (memory_location{type, 1}));
      auto const structs = copy.to_arrow();
      for (auto i = 0; i < 3; ++i) {
        EXPECT_EQ(locate(structs->array.buffers[i]), (memory_location{type, 1}));
      }
      EXPECT_EQ(read_behind_event(copy, text), from(values, 3));
    }
  }
}

TEST_F(array_copies, of_all_kinds_are_what_the_resource_gives_out)
{
  auto const type   = flat("int32");
  auto const values = samples(type, num_rows, 30);
  auto const stream = lasting_stream{};
  for (auto const kind : {memory_kind::device, memory_kind::managed, memory_kind::pinned}) {
    auto pool        = sim::pool_resource{kind, 0};
    auto const array = exported(type, values, 3, stream.get(), pool);
    for (auto const& [given, label] : {std::pair{memory_kind::device, ARROW_DEVICE_CUDA},
                                       std::pair{memory_kind::managed, ARROW_DEVICE_CUDA_MANAGED},
                                       std::pair{memory_kind::pinned, ARROW_DEVICE_CUDA_HOST}}) {
      auto mr         = sim::pool_resource{given, 0};
      auto const copy = array.copy(nullptr, cuda::stream_ref{stream.get()}, mr);
      EXPECT_EQ(copy.location(), (memory_location{label, 0}));
      EXPECT_EQ(read_behind_event(copy, type), from(values, 3));
    }
  }
}

TEST_F(array_copies, of_nothing_are_on_the_device)
{
  auto const stream = lasting_stream{};
  auto const type   = flat("null");
  auto const copy   = copy_of(exported(struct_of({type}), {}, 0, stream.get()), stream.get());
  EXPECT_EQ(copy.location(), (memory_location{ARROW_DEVICE_CUDA, 0}));
  EXPECT_EQ(read_behind_event(copy, struct_of({type})), rows{});
}

TEST_F(array_copies, of_the_host_stay_there)
{
  auto const values = samples(flat("string"), num_rows, 30);
  auto host         = std::shared_ptr<cudf::column>{make_column(flat("string"), values)};
  auto const gone   = std::weak_ptr<cudf::column>{host};
  auto const view   = host->view();
  auto const used   = lasting_stream{};
  auto const slow   = sim::slow_stream{used.get()};
  auto array      = to_arrow_device(view, std::move(host), {}, cuda::stream_ref{used.get()}, pool_);
  auto const copy = copy_of(array, used.get());
  array.reset();
  EXPECT_TRUE(gone.expired()) << "at once: no stream reads it";
  EXPECT_EQ(copy.location(), memory_location{});
  auto const structs = copy.to_arrow();
  EXPECT_EQ(structs->sync_event, nullptr);
  EXPECT_EQ(read_arrow(structs->array, flat("string")), values);
}

TEST_F(array_copies, that_fail_leave_nothing_behind)
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

}  // namespace
}  // namespace cudf_arrow_bridge::test
