// SPDX-License-Identifier: Apache-2.0
/// @file
/// Batches on a device are read after the work that fills them, with as few waits as possible.
#include "sim/tests/ipc/bodies.hpp"
#include "sim/tests/ipc/device_batch.hpp"

#include <rmm/error.hpp>
#include <rmm/mr/per_device_resource.hpp>

#include <array>
#include <optional>
#include <stdexcept>

namespace cudf_arrow_bridge::test {
namespace {

shape const& column_type()
{
  static auto const type = struct_of({flat("int32"),
                                      list_of(flat("string")),
                                      large_list_of(list_of(flat("int8"))),
                                      dictionary_of(struct_of({flat("string")}))});
  return type;
}

class IpcDecoder : public bridge_test {
 protected:
  produced_batch source_{column_type(), samples(column_type(), 40, 30)};

  /// Imports a batch on another stream. @return The rows that a kernel on that stream reads
  rows read_elsewhere(device_array const& batch, cudaStream_t stream)
  {
    auto array          = batch.to_arrow();
    auto const imported = import(array.get(), source_.schema(), stream);
    auto const seen     = read_later(imported.view(), source_.type, stream);
    synchronize(stream);
    return *seen;
  }

  static std::string error_of(device_batch const& batch, body_checks checks, cudaStream_t stream)
  {
    return message_of([&] { (void)batch.decode(checks, stream); });
  }
};

TEST_F(IpcDecoder, MakesConsumersWaitForTheBuffers)
{
  for (auto const checks : {body_checks::sizes, body_checks::ends, body_checks::all}) {
    for_seeds(many_seeds, [&](cudaStream_t made, cudaStream_t used) {
      auto const batch = device_batch{source_, made};
      ASSERT_EQ(read_elsewhere(batch.decode(checks, made), used), source_.table_rows());
    });
  }
}

TEST_F(IpcDecoder, MakesConsumersWaitForTheDictionaries)
{
  auto const first  = lasting_stream{};
  auto const second = lasting_stream{};
  auto const late   = device_batch{source_, first.get()};
  auto const early  = device_batch{source_, second.get()};
  auto slow         = std::optional<sim::slow_stream>{first.get()};
  auto const values = late.decode_dictionaries(body_checks::sizes, first.get());
  auto const batch  = early.decode(values, body_checks::sizes, second.get());
  sim::drain();
  EXPECT_FALSE(batch.is_ready());
  slow.reset();
  sim::drain();
  EXPECT_TRUE(batch.is_ready());
}

TEST_F(IpcDecoder, BatchKeepsItsDictionariesAlive)
{
  auto const stream = lasting_stream{};
  auto const batch  = device_batch{source_, stream.get()};
  auto values       = std::optional<device_batch>{std::in_place, source_, stream.get()};
  auto const alive  = std::weak_ptr<void const>{values->memory.owner};
  auto array        = batch.decode(values->decode_dictionaries(body_checks::sizes, stream.get()),
                                   body_checks::sizes,
                                   stream.get());
  values.reset();
  EXPECT_FALSE(alive.expired());
  array.reset();
  EXPECT_TRUE(alive.expired());
}

TEST_F(IpcDecoder, BatchesWithoutDictionariesAreFreedInStreamOrder)
{
  for (auto const has_dictionary : {false, true}) {
    auto const last   = has_dictionary ? dictionary_of(flat("string")) : flat("int16");
    auto const type   = struct_of({flat("int32"), last});
    auto const source = produced_batch{type, samples(type, 40, 0)};
    auto const made   = lasting_stream{};
    auto const reader = lasting_stream{};
    auto batch        = std::optional<device_batch>{std::in_place, source, made.get()};
    batch->memory.owner_frees_on_stream = true;
    auto const alive                    = std::weak_ptr<void const>{batch->memory.owner};
    auto structs                        = batch->decode(body_checks::sizes, made.get()).to_arrow();
    batch.reset();
    auto imported   = import(structs.get(), source.schema(), reader.get());
    auto const slow = sim::slow_stream{reader.get()};
    sim::enqueue(reader.get(), [] {});
    imported.storage.reset();
    EXPECT_EQ(alive.expired(), !has_dictionary);
  }
}

TEST_F(IpcDecoder, CheckOfSizesDoesNotWait)
{
  auto const stream = lasting_stream{};
  auto const batch  = device_batch{source_, stream.get()};
  auto const slow   = sim::slow_stream{stream.get()};
  auto const waits  = sim::host_syncs_here();
  auto const copies = sim::calls("cudaMemcpyAsync");
  auto const array  = batch.decode(body_checks::sizes, stream.get());
  EXPECT_EQ(array.length(), 40);
  EXPECT_EQ(sim::host_syncs_here(), waits);
  EXPECT_EQ(sim::calls("cudaMemcpyAsync"), copies);
}

TEST_F(IpcDecoder, CheckOfEndsWaitsOnce)
{
  auto const stream = lasting_stream{};
  auto const batch  = device_batch{source_, stream.get()};
  auto const values = batch.decode_dictionaries(body_checks::sizes, stream.get());
  auto const waits  = sim::host_syncs_here();
  (void)batch.decode(values, body_checks::ends, stream.get());
  EXPECT_EQ(sim::host_syncs_here(), waits + 1);
  auto const numbers    = produced_batch{flat("int32"), samples(flat("int32"), 5, 30)};
  auto const flat_batch = device_batch{numbers, stream.get()};
  (void)flat_batch.decode(body_checks::ends, stream.get());
  EXPECT_EQ(sim::host_syncs_here(), waits + 1);
}

/// Enqueues a kernel that changes a number in a buffer.
template <typename T>
void spoil(ipc_buffer const& buffer, std::int64_t index, T number, cudaStream_t stream)
{
  ASSERT_LE((index + 1) * std::int64_t{sizeof(T)}, buffer.size);
  auto* target = static_cast<T*>(const_cast<void*>(buffer.address)) + index;
  sim::enqueue(stream, [target, number] { *target = number; });
}

TEST_F(IpcDecoder, CheckOfEndsFindsInvalidLastOffsetsWrittenLate)
{
  for_seeds(many_seeds, [&](cudaStream_t stream) {
    // Buffers: f0; f0.f0: 2; f0.f1: validity, offsets; its strings: validity, offsets, data.
    for (auto const& [buffer, path] : {std::pair{4U, "f0.f1"}, {6U, "f0.f1[]"}}) {
      auto const batch = device_batch{source_, stream};
      auto const node  = batch.parts.roles[buffer].node;
      auto const last  = batch.parts.nodes[node].length;
      spoil<std::int32_t>(batch.parts.buffers[buffer], last, 100'000, stream);
      auto const error = error_of(batch, body_checks::ends, stream);
      ASSERT_TRUE(
        error.starts_with("column '" + std::string{path} + "': expected a last offset of at most "))
        << error;
      ASSERT_TRUE(error.ends_with(", got 100000")) << error;
    }
  });
}

template <typename T>
void expect_late_run_end_found(char const* ends)
{
  auto const type = runs_of(flat("int64"), ends);
  for_seeds(many_seeds, [&](cudaStream_t stream) {
    auto const batch = device_batch{produced_batch{type, samples(type, 40, 30)}, stream};
    // Run ends: node 1; their buffers: validity, data.
    auto const num_runs = batch.parts.nodes[1].length;
    spoil<T>(batch.parts.buffers[1], num_runs - 1, T{5}, stream);
    auto const waits = sim::host_syncs_here();
    EXPECT_THROW((void)batch.decode(body_checks::ends, stream), std::invalid_argument);
    EXPECT_EQ(sim::host_syncs_here(), waits + 1);
  });
}

TEST_F(IpcDecoder, CheckOfEndsFindsInvalidLastRunEndsWrittenLate)
{
  expect_late_run_end_found<std::int16_t>("s");
  expect_late_run_end_found<std::int32_t>("i");
  expect_late_run_end_found<std::int64_t>("l");
}

TEST_F(IpcDecoder, CheckOfAllFindsInvalidInnerOffsetsWrittenLate)
{
  for_seeds(many_seeds, [&](cudaStream_t stream) {
    auto const batch = device_batch{source_, stream};
    // An offset of f0.f1 between the ends.
    spoil<std::int32_t>(batch.parts.buffers[4], 20, 100'000, stream);
    ASSERT_EQ(error_of(batch, body_checks::ends, stream), "");
    auto const error = error_of(batch, body_checks::all, stream);
    ASSERT_TRUE(error.starts_with("column 'f0.f1': row ")) << error;
  });
}

TEST_F(IpcDecoder, WorksOnTheMemorysDevice)
{
  for_seeds(many_seeds, [&] {
    auto const made  = stream_on(1);
    auto const used  = stream_on(1);
    auto const batch = device_batch{source_, made->get(), 1};
    auto const array = batch.decode(body_checks::all, made->get());
    ASSERT_EQ(array.location().device_id, 1);
    auto const guard = on_device{rmm::cuda_device_id{1}};
    EXPECT_EQ(read_elsewhere(array, used->get()), source_.table_rows());
  });
}

TEST_F(IpcDecoder, CreatesOmittedOffsetsOnTheMemorysDevice)
{
  auto const stream      = stream_on(1);
  auto const none        = produced_batch{flat("string"), {}};
  auto batch             = device_batch{none, stream->get(), 1};
  batch.parts.buffers[1] = {nullptr, 0};
  auto const waits       = sim::host_syncs_here();
  auto const array       = batch.decode(body_checks::ends, stream->get()).to_arrow();
  EXPECT_EQ(sim::host_syncs_here(), waits);
  auto const* offsets = static_cast<std::int32_t const*>(array->array.children[0]->buffers[1]);
  EXPECT_EQ(locate(offsets), (memory_location{ARROW_DEVICE_CUDA, 1}));
  synchronize(stream->get());
  EXPECT_EQ(*offsets, 0);
}

TEST_F(IpcDecoder, FailedDecodeFreesItsMemory)
{
  for (auto const* function :
       {"cudaMemcpyAsync", "cudaEventRecord", "cudaStreamSynchronize", "cudaEventSynchronize"}) {
    sim::reset(1);
    auto const stream = lasting_stream{};
    auto batch        = std::optional<device_batch>{std::in_place, source_, stream.get()};
    sim::fail_next(function, cudaErrorInvalidValue);
    (void)message_of<rmm::cuda_error>([&] { (void)batch->decode(body_checks::all, stream.get()); });
    synchronize(stream.get());
    batch.reset();
    settle();
    EXPECT_EQ(sim::live_allocations(), 0U) << function;
    sim::reset(1);  // removes a remaining fault
  }
}

TEST_F(IpcDecoder, CopiesOfViewsReadTheSizesOfTheirDataFromHostMemory)
{
  auto const schema = make_schema(struct_of({as(cudf::type_id::STRING, "string_view", "vu")}));
  auto const stream = lasting_stream{};
  auto const source = filled_body{{0, 48, 100}, stream.get()};
  auto const nodes  = std::array{ipc_node{3, 0}};
  auto const counts = std::array{std::int64_t{1}};
  auto const array  = body_decoder{*schema.get()}.decode({3, nodes, source.body.buffers, counts},
                                                         {},
                                                         {source.body.location, source.body.owner},
                                                         body_checks::sizes,
                                                         stream.get());
  auto const before = sim::host_syncs_here();
  auto const copy   = array.copy(nullptr, stream.get(), pool_);
  // The copy of the sizes to the device may wait, because they are in pageable memory.
  EXPECT_EQ(sim::host_syncs_here(), before + 1);
  EXPECT_EQ(copy.child(0).buffers()[2].size, 100);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
