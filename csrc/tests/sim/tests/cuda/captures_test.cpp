// SPDX-License-Identifier: Apache-2.0
/// @file
/// Captures of CUDA graphs: releases and waits do not invalidate them, and no function adds
/// operations to a graph.
#include "sim/tests/ipc/bodies.hpp"

#include <cudf_arrow_bridge/async.hpp>
#include <cudf_arrow_bridge/fences.hpp>
#include <cudf_arrow_bridge/ordering.hpp>
#include <cudf_arrow_bridge/tensor.hpp>

#include <rmm/error.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

using sim::stream_capture;

constexpr auto empty_graph = std::optional<std::size_t>{0};  ///< a valid capture

class GraphCaptures : public bridge_test {
 protected:
  /// Makes the release of a producer free memory of CUDA, which is unsafe during captures.
  static void free_when_released(producer& source)
  {
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, 8), cudaSuccess);
    source.when_released([memory] { EXPECT_EQ(cudaFree(memory), cudaSuccess); });
  }

  shared_tensor tensor_of(device_array const& array, copy_policy policy, cudaStream_t stream)
  {
    auto structs = array.to_arrow();
    return to_tensor(
      *make_schema(flat("int32")).get(), structs.get(), policy, nullptr, stream, pool_);
  }

  /// Every kind of function that enqueues work on a stream.
  std::vector<std::pair<char const*, std::function<void()>>> functions_on(cudaStream_t stream,
                                                                          cudaStream_t other)
  {
    auto const type   = flat("int32");
    auto const shared = integer_column(other, {1, 2, 3});
    auto const array  = to_arrow(shared, other);
    auto const bools  = column(flat("bool8"), integer_rows({1, 0}), other);
    return {
      {"export", [=, this] { (void)to_arrow(bools, stream); }},
      {"import",
       [=, this] {
         auto source             = producer{other};
         source.array.sync_event = nullptr;
         sim::drain();
         (void)import(source, stream);
       }},
      {"upload",
       [=, this] {
         auto const host = make_column(type, integer_rows({1, 2}));
         auto structs    = to_arrow_device(host->view(), nullptr, {}, other, pool_).to_arrow();
         (void)import(structs, type, stream);
       }},
      {"copy", [=, this] { (void)array.copy(nullptr, stream, pool_); }},
      {"to_host", [=] { (void)array.to_host(stream); }},
      {"make_wait", [=] { array.make_wait(stream); }},
      {"order_after, later", [=] { order_after(stream, other); }},
      {"order_after, earlier", [=] { order_after(other, stream); }},
      {"fence", [=] { (void)fence_set::make().add(stream); }},
      {"tensor", [=, this] { tensor_of(array, copy_policy::never, stream).make_wait(stream); }},
      {"copied tensor", [=, this] { (void)tensor_of(array, copy_policy::always, stream); }},
      {"tensor of a producer's stream",
       [=, this] {
         auto const structs = array.to_arrow();
         auto const tensor  = tensor_view{
           structs->array.buffers[1], array.location(), element_kind::integer, 32, {3}, {1}};
         (void)from_tensor(tensor, shared, stream, copy_policy::as_needed, other, pool_);
       }},
      {"body", [=, this] { (void)describe_body(array, false, stream, pool_); }},
      {"download of a body",
       [=] {
         auto const source = filled_body{{100}, other};
         sim::drain();
         download_body(source.body, 64, [](auto...) {}, stream);
       }},
      {"upload of a body",
       [=, this] { (void)upload_body(std::array<std::byte, 100>{}, 64, stream, pool_); }},
      {"decoder of a body", [=, this] {
         auto const schema = make_schema(struct_of({flat("int32")}));
         auto const source = filled_body{{0, 64}, other};
         auto const nodes  = std::array{ipc_node{3, 0}};
         sim::drain();
         (void)body_decoder{*schema.get()}.decode({3, nodes, source.body.buffers, {}},
                                                  {},
                                                  {source.body.location, source.body.owner},
                                                  body_checks::sizes,
                                                  stream);
       }}};
  }
};

TEST_F(GraphCaptures, ReleasesDoNotInvalidateThem)
{
  for_seeds(many_seeds, [&](cudaStream_t stream, cudaStream_t captured) {
    auto source = producer{stream};
    free_when_released(source);
    auto imported   = import(source, stream);
    auto const seen = read_later(imported.view(), flat("int32"), stream);
    auto capture    = stream_capture{captured};
    std::thread{[&] {
      imported.storage.reset();
      drain_releases();
    }}.join();
    EXPECT_EQ(source.released(), 1);
    EXPECT_EQ(capture.end(), empty_graph);
    EXPECT_EQ(*seen, integer_rows({1, 2, 3, 4}));
  });
}

TEST_F(GraphCaptures, ReleasesOfTheCapturingThreadDoNotInvalidateThem)
{
  // The release waits for an event, or on the host if the event cannot be recorded.
  for (auto const fails : {false, true}) {
    auto const stream   = lasting_stream{};
    auto const captured = lasting_stream{};
    auto source         = producer{stream.get()};
    free_when_released(source);
    auto imported   = import(source, stream.get());
    auto const seen = read_later(imported.view(), flat("int32"), stream.get());
    auto capture    = stream_capture{captured.get()};
    if (fails) { sim::fail_next("cudaEventRecord", cudaErrorInvalidValue); }
    imported.storage.reset();
    drain_releases();
    EXPECT_EQ(capture.end(), empty_graph);
    EXPECT_EQ(source.released(), 1);
    EXPECT_EQ(*seen, integer_rows({1, 2, 3, 4}));
  }
}

TEST_F(GraphCaptures, ReleaseOnACapturingStreamAddsNothingToTheGraph)
{
  auto const captured = lasting_stream{};
  auto source         = producer{captured.get()};
  auto imported       = import(source, captured.get());
  auto capture        = stream_capture{captured.get()};
  auto const before   = sim::host_syncs_here();
  imported.storage.reset();
  EXPECT_EQ(sim::host_syncs_here(), before);
  EXPECT_EQ(capture.end(), empty_graph);
  drain_releases();
  EXPECT_EQ(source.released(), 1);
}

TEST_F(GraphCaptures, ReleaseOnABlockingCapturingStreamWaitsForItsEarlierWork)
{
  for_seeds(5, [&] {
    auto const captured = lasting_stream{cudaStreamDefault};
    auto source         = producer{captured.get()};
    auto imported       = import(source, captured.get());
    auto const seen     = read_later(imported.view(), flat("int32"), captured.get());
    auto slow           = std::optional<sim::slow_stream>{captured.get()};
    auto capture        = stream_capture{captured.get()};
    imported.storage.reset();
    EXPECT_EQ(source.released(), 0);
    EXPECT_EQ(capture.end(), empty_graph);
    slow.reset();
    drain_releases();
    EXPECT_EQ(source.released(), 1);
    EXPECT_EQ(*seen, integer_rows({1, 2, 3, 4}));
  });
}

TEST_F(GraphCaptures, ReleaseOnTheUnusableDefaultStreamWaitsForTheEndOfTheCapture)
{
  for_seeds(5, [&] {
    auto const captured = lasting_stream{cudaStreamDefault};
    auto source         = producer{cudaStream_t{}};
    auto imported       = import(source, cudaStream_t{});
    auto const seen     = read_later(imported.view(), flat("int32"), cudaStream_t{});
    auto slow           = std::optional<sim::slow_stream>{cudaStream_t{}};
    auto capture        = stream_capture{captured.get()};
    auto const asked    = sim::calls("cudaStreamIsCapturing");
    auto const before   = sim::host_syncs_here();
    imported.storage.reset();
    EXPECT_EQ(sim::host_syncs_here(), before);
    // The thread that releases the source has asked twice whether the capture has ended.
    for (auto i = 0; i < 1000 && sim::calls("cudaStreamIsCapturing") < asked + 3; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    EXPECT_EQ(source.released(), 0);
    EXPECT_EQ(capture.end(), empty_graph);
    slow.reset();
    drain_releases();
    EXPECT_EQ(source.released(), 1);
    EXPECT_EQ(*seen, integer_rows({1, 2, 3, 4}));
  });
}

TEST_F(GraphCaptures, ReleaseDoesNotMakeACapturingStreamWait)
{
  auto const made     = lasting_stream{};
  auto const consumer = lasting_stream{};
  auto source         = producer{made.get()};
  // The copy frees its memory in the order of `made`.
  auto imported = import(source, made.get(), {.copy = copy_policy::always});
  auto capture  = stream_capture{made.get()};
  imported.storage->release().data->set_stream(consumer.get());
  drain_releases();
  // The pool frees the memory on `made`, which adds an operation to the graph.
  EXPECT_TRUE(capture.end().has_value());
}

TEST_F(GraphCaptures, CopyThatIsFreedOnACapturingStreamIsKeptForItsEarlierWork)
{
  for_seeds(5, [&](cudaStream_t made) {
    auto const captured = lasting_stream{cudaStreamDefault};
    auto source         = producer{made};
    // The copy frees its memory in the order of `made`.
    auto imported = import(source, made, {.copy = copy_policy::always});
    order_after(captured.get(), made);
    auto slow       = std::optional<sim::slow_stream>{captured.get()};
    auto const seen = read_later(imported.view(), flat("int32"), captured.get());
    auto capture    = stream_capture{captured.get()};
    imported.storage->release().data->set_stream(captured.get());
    EXPECT_EQ(capture.end(), empty_graph);
    sim::drain();
    slow.reset();
    settle();
    EXPECT_EQ(*seen, integer_rows({1, 2, 3, 4}));
  });
}

TEST_F(GraphCaptures, RejectFunctionsOnTheirStreamOrTheLegacyDefaultStream)
{
  auto const other    = lasting_stream{};
  auto const captured = lasting_stream{};
  auto const blocking = lasting_stream{cudaStreamDefault};
  for (auto const& [stream, used] :
       {std::pair{captured.get(), captured.get()}, std::pair{blocking.get(), cudaStream_t{}}}) {
    for (auto const& [name, call] : functions_on(used, other.get())) {
      SCOPED_TRACE(name);
      auto capture = stream_capture{stream};
      // "capture", or the name of an error such as cudaErrorStreamCaptureUnsupported.
      expect_in("aptur", message_of(call));
      EXPECT_EQ(capture.end(), empty_graph);
      EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
      settle();
    }
  }
}

TEST_F(GraphCaptures, OfANonBlockingStreamAllowFunctionsOnOtherStreams)
{
  auto const other    = lasting_stream{};
  auto const captured = lasting_stream{};
  for (auto* const used : {other.get(), cudaStream_t{}}) {
    for (auto const& [name, call] : functions_on(used, other.get())) {
      SCOPED_TRACE(name);
      auto capture = stream_capture{captured.get()};
      call();
      EXPECT_EQ(capture.end(), empty_graph);
      detail::drain_fences();
      settle();
    }
  }
}

TEST_F(GraphCaptures, ReadsOfScalarsAndFailedCopiesDoNotInvalidateThem)
{
  auto const type     = struct_of({flat("string"), list_of(flat("int8"))});
  auto const stream   = lasting_stream{};
  auto const captured = lasting_stream{};
  auto const array    = export_rows(type, samples(type, 20, 0), stream.get());
  auto structs        = array.to_arrow();
  auto capture        = stream_capture{captured.get()};
  auto const imported = import(structs, type, stream.get());
  EXPECT_FALSE(array.child(0).buffers().empty());
  (void)array.copy(nullptr, stream.get(), pool_);
  (void)array.to_host(stream.get());
  sim::fail_next("cudaMemcpyAsync", cudaErrorInvalidValue);
  EXPECT_THROW((void)array.to_host(stream.get()), rmm::cuda_error);
  EXPECT_EQ(capture.end(), empty_graph);
}

TEST_F(GraphCaptures, UploadsOfPageableMemoryDoNotInvalidateThem)
{
  auto const stream     = lasting_stream{};
  auto const captured   = lasting_stream{};
  auto const host       = std::shared_ptr{make_column(flat("int32"), integer_rows({1, 2}))};
  auto structs          = to_arrow(host, stream.get()).to_arrow();
  auto const all_pinned = detail::pinned_memory{1, all_pinned_memory, detail::transfer_kind::body};
  auto capture          = stream_capture{captured.get()};
  auto imported         = import(structs, flat("int32"), stream.get());
  EXPECT_EQ(capture.end(), empty_graph);
  expect_rows(std::move(imported), flat("int32"), integer_rows({1, 2}), stream.get());
}

TEST_F(GraphCaptures, WaitsRestoreTheModeOfTheThread)
{
  auto const stream = lasting_stream{};
  auto const array  = to_arrow(integer_column(stream.get()), stream.get());
  array.wait();
  auto mode = cudaStreamCaptureModeRelaxed;
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
  EXPECT_EQ(mode, cudaStreamCaptureModeGlobal);
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
}

TEST_F(GraphCaptures, SlicesRejectACapturingStream)
{
  auto const text     = flat("string");
  auto const captured = lasting_stream{};
  auto const array    = export_rows(text, samples(text, 40, 30), captured.get());
  auto capture        = stream_capture{captured.get()};
  expect_in("captur", message_of([&] { (void)array.slice(3, 20, false); }));
  expect_in("captur", message_of([&] { (void)array.buffers(); }));
  EXPECT_EQ(capture.end(), empty_graph);
}

TEST_F(GraphCaptures, WaitsForArraysDoNotInvalidateThem)
{
  auto const stream   = lasting_stream{};
  auto const captured = lasting_stream{};
  auto const array    = to_arrow(integer_column(stream.get()), stream.get());
  auto const tensor   = tensor_of(array, copy_policy::never, stream.get());
  auto fences         = fence_set::make();
  auto capture        = stream_capture{captured.get()};
  (void)array.is_ready();
  array.wait();
  tensor.wait();
  EXPECT_TRUE(array.is_ready());
  (void)fences.add(stream.get());
  (void)array.add_fence(fences);
  detail::drain_fences();
  EXPECT_EQ(fences.num_pending(), 0U);
  EXPECT_EQ(capture.end(), empty_graph);
}

/// Allocates and frees memory with CUDA in `next`.
class allocating_source : public batch_source {
 public:
  explicit allocating_source(std::unique_ptr<batch_source> source) : source_{std::move(source)} {}

  stream_batch next() override
  {
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, 8), cudaSuccess);
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
    return source_->next();
  }

 private:
  std::unique_ptr<batch_source> source_;
};

TEST_F(GraphCaptures, SourcesOfAsynchronousStreamsDoNotInvalidateThem)
{
  auto const stream   = lasting_stream{};
  auto const captured = lasting_stream{};
  auto const owner    = integer_column(stream.get(), {1, 2, 3, 4});
  auto batches        = slices(owner->view(),
                               owner,
                               2,
                               {.schema = cudf_arrow_bridge::make_schema(owner->view(), {})},
                               stream.get(),
                               pool_);
  auto reader         = async_stream_reader{1, {}};
  auto capture        = stream_capture{captured.get()};
  to_arrow_async(device_array_stream{std::make_unique<allocating_source>(std::move(batches))},
                 reader.take_handler());
  auto count = 0;
  for (auto is_over = false; !is_over; count += is_over ? 0 : 1) {
    reader.wait();
    is_over = reader.next()->is_end();
  }
  EXPECT_EQ(count, 2);
  EXPECT_EQ(capture.end(), empty_graph);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
