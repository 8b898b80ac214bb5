// SPDX-License-Identifier: Apache-2.0
/// @file
/// Imports make their stream wait for the producer's event.
#include "sim/tests/bridge_test.hpp"

#include <optional>

namespace cudf_arrow_bridge::test {
namespace {

class ImportOrder : public bridge_test {
 protected:
  /// Enqueues a read of an import, frees the import immediately, and expects the values.
  void expect_values(imported_column&& imported, integers_t const& values, cudaStream_t stream)
  { expect_rows(std::move(imported), flat("int32"), integer_rows(values), stream); }
};

TEST_F(ImportOrder, StreamWaitsForTheEvent)
{
  auto const values = integers_t{5, 6, 7, 8};
  for_seeds(many_seeds, [&](cudaStream_t far, cudaStream_t consumer) {
    auto source       = producer{far, values};
    auto const before = sim::host_syncs_here();
    auto imported     = import(source, consumer);
    EXPECT_EQ(sim::host_syncs_here(), before);
    EXPECT_EQ(imported.view().head<void>(), source.data());
    expect_values(std::move(imported), values, consumer);
    settle();
    EXPECT_EQ(source.released(), 1);
  });
}

TEST_F(ImportOrder, NullsAreCountedAfterTheEvent)
{
  auto const type   = flat("int64");
  auto const values = samples(type, 100, 40);
  for_seeds(many_seeds, [&](cudaStream_t far, cudaStream_t consumer) {
    auto array              = export_rows(type, values, far).to_arrow();
    array->array.null_count = -1;
    EXPECT_EQ(import(array, type, consumer).view().null_count(), count_nulls(values));
  });
}

TEST_F(ImportOrder, ImportWithoutAnEventDoesNotWait)
{
  auto const stream = lasting_stream{};
  auto source       = producer{stream.get()};
  synchronize(stream.get());
  source.array.sync_event = nullptr;
  auto const waits        = sim::calls("cudaStreamWaitEvent");
  expect_values(import(source, stream.get()), {1, 2, 3, 4}, stream.get());
  EXPECT_EQ(sim::calls("cudaStreamWaitEvent"), waits);
}

TEST_F(ImportOrder, ImportRejectsAnInvalidEvent)
{
  auto const stream = lasting_stream{};
  auto source       = producer{stream.get()};
  synchronize(stream.get());
  auto garbage            = reinterpret_cast<cudaEvent_t>(std::uintptr_t{8});
  source.array.sync_event = &garbage;
  expect_in("rejects", message_of([&] { (void)import(source, stream.get()); }));
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_EQ(source.released(), 0);
  source.array.array.release(&source.array.array);
  EXPECT_EQ(source.released(), 1);
}

TEST_F(ImportOrder, EventMayBeOfAnotherDevice)
{
  for_seeds(many_seeds, [&] {
    auto const far      = stream_on(1);
    auto const consumer = lasting_stream{};
    // A kernel of one device may write managed memory of another device.
    auto source = producer{consumer.get(), {1}, memory_kind::managed};
    synchronize(consumer.get());
    auto ready = cudaEvent_t{};
    {
      auto const guard = on_device{rmm::cuda_device_id{1}};
      sim::enqueue(far->get(), [data = source.data()] { *static_cast<std::int32_t*>(data) = 9; });
      EXPECT_EQ(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming), cudaSuccess);
      EXPECT_EQ(cudaEventRecord(ready, far->get()), cudaSuccess);
    }
    source.array.sync_event = &ready;
    expect_values(import(source, consumer.get()), {9}, consumer.get());
    EXPECT_EQ(cudaEventDestroy(ready), cudaSuccess);
  });
}

TEST_F(ImportOrder, MemoryOfAnotherDeviceRequiresACopy)
{
  auto const far  = stream_on(1);
  auto source     = producer{far->get(), {1, 2}, memory_kind::device, 1};
  auto const here = lasting_stream{};
  auto const text = message_of([&] { (void)import(source, here.get()); });
  expect_in("memory of CUDA device 1", text);
  expect_in("current device 0", text);
  EXPECT_EQ(source.released(), 0);
}

TEST_F(ImportOrder, CopiesFromAnotherDeviceWaitForTheProducer)
{
  auto const values = integers_t{3, 1, 4, 1, 5};
  for_seeds(many_seeds, [&] {
    auto const far   = stream_on(1);
    auto const here  = lasting_stream{};
    auto source      = producer{far->get(), values, memory_kind::device, 1};
    auto released_on = -1;
    source.when_released([&] { EXPECT_EQ(cudaGetDevice(&released_on), cudaSuccess); });
    auto const before = sim::host_syncs_here();
    auto imported     = import(source, here.get(), {.copy = copy_policy::always});
    EXPECT_EQ(sim::host_syncs_here(), before);
    EXPECT_EQ(locate(imported.view().head<void>()), (memory_location{ARROW_DEVICE_CUDA, 0}));
    expect_values(std::move(imported), values, here.get());
    settle();
    EXPECT_EQ(source.released(), 1);
    EXPECT_EQ(released_on, 1);
  });
}

TEST_F(ImportOrder, CopiesFromAPoolOfAnotherDeviceAreBetweenPeers)
{
  for (auto const& type : shapes_of_each_layout()) {
    auto const values = samples(type, 40, 30);
    for (auto const validate : {validation::minimal, validation::full}) {
      for_seeds(10, [&](cudaStream_t here) {
        auto const far     = stream_on(1);
        auto array         = export_rows(type, values, far->get(), 1).to_arrow();
        auto const options = import_options{.copy = copy_policy::always, .validate = validate};
        expect_rows(import(array, type, here, options), type, values, here);
        settle();
      });
    }
  }
}

TEST_F(ImportOrder, CopiesFromAnotherDeviceWaitOnceForTheSizesOfAllStrings)
{
  auto const type    = struct_of({flat("string"), list_of(flat("string")), flat("string")});
  auto const values  = samples(type, 40, 0);
  auto const far     = stream_on(1);
  auto const here    = lasting_stream{};
  auto array         = export_rows(type, values, far->get(), 1).to_arrow();
  auto const options = import_options{.copy = copy_policy::always, .sanitize = false};
  auto const before  = sim::host_syncs_here();
  auto imported      = import(array, type, here.get(), options);
  // One for the sizes, and one for the offsets that every import of lists and strings reads.
  EXPECT_EQ(sim::host_syncs_here(), before + 2);
  expect_rows(std::move(imported), type, values, here.get(), false);
}

TEST_F(ImportOrder, CopiesKeepTheSourceUntilTheyAreDone)
{
  auto const here = lasting_stream{};
  auto source     = producer{here.get()};
  auto slow       = std::optional<sim::slow_stream>{here.get()};
  auto imported   = import(source, here.get(), {.copy = copy_policy::always});
  EXPECT_EQ(source.released(), 0);
  slow.reset();
  settle();
  EXPECT_EQ(source.released(), 1);
  expect_values(std::move(imported), {1, 2, 3, 4}, here.get());
}

TEST_F(ImportOrder, LastOffsetsAreReadAfterTheEvent)
{
  auto const type   = struct_of({flat("string")});
  auto const values = rows{{rows{{"a"}}}, {rows{{"bcd"}}}};
  for (auto const is_broken : {false, true}) {
    for_seeds(many_seeds, [&](cudaStream_t far, cudaStream_t here) {
      auto array        = export_rows(type, values, far).to_arrow();
      auto const borrow = [&] { return import_table(array, type, here, {.borrow = true}); };
      if (is_broken) {
        synchronize(far);
        auto* const offsets = const_cast<void*>(array->array.children[0]->buffers[1]);
        static_cast<std::int32_t*>(offsets)[2] = -1;
        EXPECT_THROW((void)borrow(), std::invalid_argument);
      } else {
        EXPECT_EQ(borrow().columns[0].data_size, 4);
      }
    });
  }
}

TEST_F(ImportOrder, BorrowedColumnsAreReadAfterTheEventAndBeforeTheRelease)
{
  for (auto const& type : {flat("int32"), flat("string"), list_of(flat("bool8"))}) {
    auto const values = samples(type, 20, 25);
    for_seeds(many_seeds, [&](cudaStream_t far, cudaStream_t here) {
      auto const source = column(type, values, far);
      auto array        = to_arrow(source, far).to_arrow();
      auto borrowed     = import(array, type, here, {.borrow = true});
      EXPECT_EQ(borrowed.storage == nullptr, type.children.empty());
      EXPECT_EQ(borrowed.size, 20);
      auto const seen = read_later(borrowed.view(), type, here);
      borrowed        = {};
      drain_releases();
      EXPECT_EQ(source.use_count(), 1);
      EXPECT_EQ(*seen, values);
    });
  }
}

TEST_F(ImportOrder, ErrorForAnUnknownDeviceNamesItsType)
{
  auto const here = lasting_stream{};
  auto source     = producer{here.get()};
  synchronize(here.get());
  source.array.device_type = 8;
  expect_in("unknown device type 8", message_of([&] { (void)import(source, here.get()); }));
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
