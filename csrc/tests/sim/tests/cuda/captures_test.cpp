// SPDX-License-Identifier: Apache-2.0
/// @file
/// Captures of CUDA graphs: releases and waits do not invalidate them, and no function adds
/// operations to a graph.
#include "sim/tests/ipc/bodies.hpp"
#include "testing/producer.hpp"

#include <cudf_arrow_bridge/async.hpp>
#include <cudf_arrow_bridge/fences.hpp>
#include <cudf_arrow_bridge/ordering.hpp>
#include <cudf_arrow_bridge/tensor.hpp>

#include <rmm/error.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

using sim::stream_capture;

/// A valid capture without operations.
constexpr auto empty_graph = std::optional<std::size_t>{0};

class graph_captures : public bridge_test {
 protected:
  /// Makes the release of a producer free memory of CUDA, which is unsafe during captures.
  static void free_when_released(producer& source)
  {
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, 8), cudaSuccess);
    source.when_released([memory] { EXPECT_EQ(cudaFree(memory), cudaSuccess); });
  }

  static std::string message_of(std::function<void()> const& run)
  {
    try {
      run();
    } catch (std::invalid_argument const& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  /// Every kind of function that enqueues work on a stream.
  std::vector<std::pair<char const*, std::function<void()>>> functions_on(cudaStream_t used,
                                                                          cudaStream_t other)
  {
    auto const stream = cuda::stream_ref{used};
    auto const shared = std::shared_ptr{integer_column(other, {1, 2, 3})};
    auto const array  = to_arrow(shared, other);
    auto const bools  = std::shared_ptr{column(flat("bool8"), samples(flat("bool8"), 9, 0), other)};
    return {
      {"export", [=, this] { (void)to_arrow(shared, used); }},
      {"export with a conversion", [=, this] { (void)to_arrow(bools, used); }},
      {"import",
       [=, this] {
         auto source = producer{other};
         sim::drain();
         (void)import(source, used);
       }},
      {"import without an event",
       [=, this] {
         auto source             = producer{other};
         source.array.sync_event = nullptr;
         sim::drain();
         (void)import(source, used);
       }},
      {"upload",
       [=, this] {
         auto const host = integer_rows({1, 2});
         auto const view = make_column(flat("int32"), host);
         auto structs =
           to_arrow_device(view->view(), nullptr, {}, test::stream(), host_memory_resource())
             .to_arrow();
         (void)import(structs.get(), *integer_schema().get(), used);
       }},
      {"copy", [=, this] { (void)array.copy(nullptr, stream, pool_); }},
      {"to_host", [=] { (void)array.to_host(stream); }},
      {"make_wait", [=] { array.make_wait(stream); }},
      {"borrow", [=] { (void)borrow_guard{array, cuda::stream_ref{other}, stream}; }},
      {"order_after, later", [=] { order_after(stream, cuda::stream_ref{other}); }},
      {"order_after, earlier", [=] { order_after(cuda::stream_ref{other}, stream); }},
      {"fence",
       [=] {
         auto fences = fence_set::make();
         (void)fences.add(stream);
       }},
      {"tensor",
       [=, this] {
         auto structs = array.to_arrow();
         to_tensor(
           *integer_schema().get(), structs.get(), copy_policy::never, nullptr, stream, pool_)
           .make_wait(stream);
       }},
      {"copied tensor",
       [=, this] {
         auto structs = array.to_arrow();
         (void)to_tensor(
           *integer_schema().get(), structs.get(), copy_policy::always, nullptr, stream, pool_);
       }},
      {"tensor of a producer's stream",
       [=, this] {
         auto const structs = array.to_arrow();
         auto const tensor  = tensor_view{
           structs->array.buffers[1], array.location(), element_kind::integer, 32, {3}, {1}};
         (void)from_tensor(
           tensor, shared, stream, copy_policy::as_needed, cuda::stream_ref{other}, pool_);
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
         (void)body_decoder{*schema.get()}.batch({3, nodes, source.body.buffers, {}},
                                                 {},
                                                 {source.body.location, source.body.owner},
                                                 body_checks::sizes,
                                                 stream);
       }}};
  }
};

TEST_F(graph_captures, releases_do_not_invalidate_them)
{
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const stream   = lasting_stream{};
    auto const captured = lasting_stream{};
    auto source         = producer{stream.get()};
    free_when_released(source);
    auto imported   = import(source, stream.get());
    auto const seen = read_later(imported.view(), flat("int32"), stream.get());
    auto capture    = stream_capture{captured.get()};
    std::thread{[&] {
      imported.storage.reset();
      drain_releases();
    }}.join();
    EXPECT_EQ(source.released(), 1);
    EXPECT_EQ(capture.end(), empty_graph);
    EXPECT_EQ(*seen, integer_rows({1, 2, 3, 4}));
  }
}

TEST_F(graph_captures, releases_of_the_capturing_thread_do_not_invalidate_them)
{
  auto const stream   = lasting_stream{};
  auto const captured = lasting_stream{};
  auto source         = producer{stream.get()};
  free_when_released(source);
  auto imported = import(source, stream.get());
  auto capture  = stream_capture{captured.get()};
  imported.storage.reset();
  drain_releases();
  EXPECT_EQ(source.released(), 1);
  EXPECT_EQ(capture.end(), empty_graph);
}

TEST_F(graph_captures, releases_wait_for_the_host_without_invalidating_them)
{
  auto const stream   = lasting_stream{};
  auto const captured = lasting_stream{};
  auto source         = producer{stream.get()};
  auto imported       = import(source, stream.get());
  auto const seen     = read_later(imported.view(), flat("int32"), stream.get());
  auto capture        = stream_capture{captured.get()};
  sim::fail_next("cudaEventRecord", cudaErrorInvalidValue);
  imported.storage.reset();
  drain_releases();
  EXPECT_EQ(capture.end(), empty_graph);
  EXPECT_EQ(source.released(), 1);
  EXPECT_EQ(*seen, integer_rows({1, 2, 3, 4}));
}

TEST_F(graph_captures, release_on_a_capturing_stream_adds_nothing_to_the_graph)
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

TEST_F(graph_captures, release_on_a_blocking_capturing_stream_waits_for_its_earlier_work)
{
  for (auto seed = 0U; seed < 5; ++seed) {
    sim::reset(seed);
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
  }
}

TEST_F(graph_captures, release_on_the_unusable_default_stream_waits_for_the_end_of_the_capture)
{
  for (auto seed = 0U; seed < 5; ++seed) {
    sim::reset(seed);
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
  }
}

TEST_F(graph_captures, release_does_not_make_a_capturing_stream_wait)
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

TEST_F(graph_captures, copy_that_is_freed_on_a_capturing_stream_is_kept_for_its_earlier_work)
{
  for (auto seed = 0U; seed < 5; ++seed) {
    sim::reset(seed);
    auto const made     = lasting_stream{};
    auto const captured = lasting_stream{cudaStreamDefault};
    auto source         = producer{made.get()};
    // The copy frees its memory in the order of `made`.
    auto imported = import(source, made.get(), {.copy = copy_policy::always});
    order_after(cuda::stream_ref{captured.get()}, cuda::stream_ref{made.get()});
    auto slow       = std::optional<sim::slow_stream>{captured.get()};
    auto const seen = read_later(imported.view(), flat("int32"), captured.get());
    auto capture    = stream_capture{captured.get()};
    imported.storage->release().data->set_stream(captured.get());
    EXPECT_EQ(capture.end(), empty_graph);
    sim::drain();
    slow.reset();
    settle();
    EXPECT_EQ(*seen, integer_rows({1, 2, 3, 4}));
  }
}

TEST_F(graph_captures, failed_copies_to_the_host_do_not_invalidate_them)
{
  auto const stream   = lasting_stream{};
  auto const captured = lasting_stream{};
  auto const array    = to_arrow(integer_column(stream.get()), stream.get());
  auto capture        = stream_capture{captured.get()};
  sim::fail_next("cudaMemcpyAsync", cudaErrorInvalidValue);
  EXPECT_THROW((void)array.to_host(cuda::stream_ref{stream.get()}), rmm::cuda_error);
  EXPECT_EQ(capture.end(), empty_graph);
}

TEST_F(graph_captures, reject_functions_on_their_stream_or_the_legacy_default_stream)
{
  auto const other    = lasting_stream{};
  auto const captured = lasting_stream{};
  auto const blocking = lasting_stream{cudaStreamDefault};
  for (auto const& [stream, used] :
       {std::pair{captured.get(), captured.get()}, std::pair{blocking.get(), cudaStream_t{}}}) {
    for (auto const& [name, call] : functions_on(used, other.get())) {
      SCOPED_TRACE(name);
      auto capture = stream_capture{stream};
      EXPECT_NE(message_of(call).find("captur"), std::string::npos) << message_of(call);
      EXPECT_EQ(capture.end(), empty_graph);
      EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
      settle();
    }
  }
}

TEST_F(graph_captures, of_a_non_blocking_stream_allow_functions_on_other_streams)
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

TEST_F(graph_captures, reads_of_scalars_do_not_invalidate_them)
{
  auto const type     = struct_of({flat("string"), list_of(flat("int8"))});
  auto const stream   = lasting_stream{};
  auto const captured = lasting_stream{};
  auto const source   = std::shared_ptr{column(type, samples(type, 20, 0), stream.get())};
  auto const schema   = schema_of(source->view());
  auto const array    = to_arrow(source, stream.get());
  auto structs        = array.to_arrow();
  auto capture        = stream_capture{captured.get()};
  auto const imported = import(structs.get(), *schema.get(), stream.get());
  EXPECT_FALSE(array.child(0).buffers().empty());
  (void)array.copy(nullptr, cuda::stream_ref{stream.get()}, pool_);
  (void)array.to_host(cuda::stream_ref{stream.get()});
  EXPECT_EQ(capture.end(), empty_graph);
}

TEST_F(graph_captures, uploads_of_pageable_memory_do_not_invalidate_them)
{
  auto const stream   = lasting_stream{};
  auto const captured = lasting_stream{};
  auto const host     = std::shared_ptr{make_column(flat("int32"), integer_rows({1, 2}))};
  auto structs =
    to_arrow_device(host->view(), host, {}, test::stream(), host_memory_resource()).to_arrow();
  auto const all_pinned = detail::pinned_memory{1, all_pinned_memory, detail::transfer_kind::body};
  auto capture          = stream_capture{captured.get()};
  auto imported         = import(structs.get(), *integer_schema().get(), stream.get());
  EXPECT_EQ(capture.end(), empty_graph);
  auto const seen = read_later(imported.view(), flat("int32"), stream.get());
  synchronize(stream.get());
  EXPECT_EQ(*seen, integer_rows({1, 2}));
}

TEST_F(graph_captures, waits_restore_the_mode_of_the_thread)
{
  auto const stream = lasting_stream{};
  auto const array  = to_arrow(integer_column(stream.get()), stream.get());
  array.wait();
  auto mode = cudaStreamCaptureModeRelaxed;
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
  EXPECT_EQ(mode, cudaStreamCaptureModeGlobal);
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
}

TEST_F(graph_captures, slices_reject_a_capturing_stream)
{
  auto const type     = flat("int32");
  auto const values   = samples(type, 40, 30);
  auto const captured = lasting_stream{};
  auto const array =
    to_arrow(std::shared_ptr{column(type, values, captured.get())}, captured.get());
  auto const text = flat("string");
  auto const strings =
    to_arrow(std::shared_ptr{column(text, samples(text, 40, 0), captured.get())}, captured.get());
  auto capture = stream_capture{captured.get()};
  EXPECT_NE(message_of([&] { (void)array.slice(3, 20, false); }).find("captur"), std::string::npos);
  EXPECT_NE(message_of([&] { (void)strings.buffers(); }).find("captur"), std::string::npos);
  EXPECT_EQ(capture.end(), empty_graph);
}

TEST_F(graph_captures, waits_for_arrays_do_not_invalidate_them)
{
  auto const stream   = lasting_stream{};
  auto const captured = lasting_stream{};
  auto const array    = to_arrow(integer_column(stream.get()), stream.get());
  auto structs        = array.to_arrow();
  auto const tensor   = to_tensor(*integer_schema().get(),
                                  structs.get(),
                                  copy_policy::never,
                                  nullptr,
                                  cuda::stream_ref{stream.get()},
                                  pool_);
  auto fences         = fence_set::make();
  auto capture        = stream_capture{captured.get()};
  (void)array.is_ready();
  array.wait();
  tensor.wait();
  EXPECT_TRUE(array.is_ready());
  (void)fences.add(cuda::stream_ref{stream.get()});
  (void)array.add_fence(fences);
  detail::drain_fences();
  EXPECT_EQ(fences.num_pending(), 0U);
  EXPECT_EQ(capture.end(), empty_graph);
}

TEST_F(graph_captures, end_of_a_borrow_leaves_a_capturing_stream_alone)
{
  auto const owner    = lasting_stream{};
  auto const borrower = lasting_stream{};
  auto const array    = to_arrow(integer_column(owner.get()), owner.get());
  for (auto* const captured : {&owner, &borrower}) {
    auto guard =
      borrow_guard{array, cuda::stream_ref{owner.get()}, cuda::stream_ref{borrower.get()}};
    auto capture = stream_capture{captured->get()};
    guard.end();
    EXPECT_EQ(capture.end(), empty_graph);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  }
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

TEST_F(graph_captures, sources_of_asynchronous_streams_do_not_invalidate_them)
{
  auto const stream   = lasting_stream{};
  auto const captured = lasting_stream{};
  auto const owner    = std::shared_ptr{integer_column(stream.get(), {1, 2, 3, 4})};
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
