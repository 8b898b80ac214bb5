// SPDX-License-Identifier: Apache-2.0
#include "sim/world_test.hpp"

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using sim::stream;
using sim::stream_capture;

class captures : public sim::world_test {
 protected:
  captures()
  {
    EXPECT_EQ(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&memory_, 8), cudaSuccess);
  }

  void TearDown() override
  {
    EXPECT_EQ(cudaEventDestroy(event_), cudaSuccess);
    EXPECT_EQ(cudaFree(memory_), cudaSuccess);
    other_.reset();
    world_test::TearDown();
  }

  static cudaStreamCaptureStatus status_of(cudaStream_t stream)
  {
    auto result = cudaStreamCaptureStatusNone;
    EXPECT_EQ(cudaStreamIsCapturing(stream, &result), cudaSuccess);
    return result;
  }

  /// Calls that CUDA forbids while another thread captures in the global mode.
  std::vector<std::pair<std::string, std::function<cudaError_t()>>> unsafe_calls()
  {
    return {{"cudaMalloc",
             [this] {
               void* memory = nullptr;
               auto result  = cudaMalloc(&memory, 8);
               return result == cudaSuccess ? cudaFree(memory) : result;
             }},
            {"cudaHostAlloc",
             [] {
               void* memory = nullptr;
               auto result  = cudaHostAlloc(&memory, 8, cudaHostAllocDefault);
               return result == cudaSuccess ? cudaFreeHost(memory) : result;
             }},
            {"cudaFree",
             [this] {
               auto const result = cudaFree(memory_);
               if (result == cudaSuccess) { memory_ = nullptr; }
               return result;
             }},
            {"cudaEventQuery", [this] { return cudaEventQuery(event_); }},
            {"cudaEventSynchronize", [this] { return cudaEventSynchronize(event_); }},
            {"cudaStreamQuery", [this] { return cudaStreamQuery(other_->get()); }},
            {"cudaStreamSynchronize", [this] { return cudaStreamSynchronize(other_->get()); }}};
  }

  cudaEvent_t event_{};
  void* memory_{};
  std::optional<stream> other_{std::in_place};
};

TEST_F(captures, captured_operations_do_not_run)
{
  auto const one = stream{};
  auto ran       = false;
  auto capture   = stream_capture{one.get()};
  EXPECT_EQ(status_of(one.get()), cudaStreamCaptureStatusActive);
  sim::enqueue(one.get(), [&] { ran = true; });
  EXPECT_EQ(cudaMemsetAsync(memory_, 0, 8, one.get()), cudaSuccess);
  EXPECT_EQ(capture.end(), 2U);
  EXPECT_EQ(status_of(one.get()), cudaStreamCaptureStatusNone);
  sim::drain();
  EXPECT_FALSE(ran);
}

TEST_F(captures, forbid_unsafe_calls_of_other_threads_in_the_global_mode)
{
  for (auto const& [name, call] : unsafe_calls()) {
    SCOPED_TRACE(name);
    auto const one = stream{};
    auto capture   = stream_capture{one.get()};
    std::thread{[&, &call = call] { EXPECT_EQ(call(), cudaErrorStreamCaptureUnsupported); }}.join();
    EXPECT_EQ(status_of(one.get()), cudaStreamCaptureStatusInvalidated);
    EXPECT_EQ(capture.end(), std::nullopt);
  }
}

TEST_F(captures, allow_unsafe_calls_of_relaxed_threads)
{
  for (auto const& [name, call] : unsafe_calls()) {
    SCOPED_TRACE(name);
    auto const one = stream{};
    auto capture   = stream_capture{one.get()};
    std::thread{[&, &call = call] {
      auto mode = cudaStreamCaptureModeRelaxed;
      EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
      EXPECT_EQ(mode, cudaStreamCaptureModeGlobal);
      EXPECT_EQ(call(), cudaSuccess);
      EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
      EXPECT_EQ(mode, cudaStreamCaptureModeRelaxed);
    }}.join();
    EXPECT_EQ(capture.end(), 0U);
  }
}

TEST_F(captures, forbid_unsafe_calls_of_their_thread_in_the_thread_local_mode)
{
  auto const one = stream{};
  auto capture   = stream_capture{one.get(), cudaStreamCaptureModeThreadLocal};
  std::thread{[&] { EXPECT_EQ(cudaEventQuery(event_), cudaSuccess); }}.join();
  EXPECT_EQ(capture.end(), 0U);
  auto again = stream_capture{one.get(), cudaStreamCaptureModeThreadLocal};
  EXPECT_EQ(cudaEventQuery(event_), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(again.end(), std::nullopt);
}

TEST_F(captures, forbid_waits_for_captured_events_and_streams)
{
  auto const one  = stream{};
  auto mode       = cudaStreamCaptureModeRelaxed;
  auto const wait = [&](auto call) {
    auto capture = stream_capture{one.get()};
    EXPECT_EQ(cudaEventRecord(event_, one.get()), cudaSuccess);
    EXPECT_NE(call(), cudaSuccess);
    EXPECT_EQ(capture.end(), std::nullopt);
  };
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
  wait([&] { return cudaEventSynchronize(event_); });
  wait([&] { return cudaEventQuery(event_); });
  wait([&] { return cudaStreamSynchronize(one.get()); });
  wait([&] { return cudaStreamQuery(one.get()); });
}

TEST_F(captures, forbid_waits_of_their_stream_for_other_work)
{
  auto const one = stream{};
  EXPECT_EQ(cudaEventRecord(event_, other_->get()), cudaSuccess);
  auto capture = stream_capture{one.get()};
  EXPECT_EQ(cudaStreamWaitEvent(one.get(), event_), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(capture.end(), std::nullopt);
}

TEST_F(captures, include_streams_that_wait_for_captured_events)
{
  auto const one = stream{};
  auto ran       = false;
  auto capture   = stream_capture{one.get()};
  EXPECT_EQ(cudaEventRecord(event_, one.get()), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(other_->get(), event_), cudaSuccess);
  EXPECT_EQ(status_of(other_->get()), cudaStreamCaptureStatusActive);
  sim::enqueue(other_->get(), [&] { ran = true; });
  EXPECT_EQ(capture.end(), 3U);
  EXPECT_EQ(status_of(other_->get()), cudaStreamCaptureStatusNone);
  sim::drain();
  EXPECT_FALSE(ran);
  EXPECT_EQ(cudaStreamWaitEvent(other_->get(), event_), cudaErrorCapturedEvent);
}

TEST_F(captures, of_blocking_streams_make_the_legacy_stream_unusable)
{
  auto const blocking = stream{cudaStreamDefault};
  auto unused         = cudaStreamCaptureStatusNone;
  auto capture        = stream_capture{blocking.get()};
  EXPECT_EQ(cudaStreamIsCapturing(cudaStreamLegacy, &unused), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(status_of(blocking.get()), cudaStreamCaptureStatusActive);
  EXPECT_EQ(cudaEventRecord(event_, cudaStreamLegacy), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(status_of(blocking.get()), cudaStreamCaptureStatusInvalidated);
  EXPECT_EQ(capture.end(), std::nullopt);
  EXPECT_EQ(status_of(cudaStreamLegacy), cudaStreamCaptureStatusNone);
  EXPECT_EQ(cudaEventRecord(event_, cudaStreamLegacy), cudaSuccess);
}

TEST_F(captures, of_non_blocking_streams_leave_the_legacy_stream_usable)
{
  auto const one = stream{};
  auto capture   = stream_capture{one.get()};
  EXPECT_EQ(cudaEventRecord(event_, cudaStreamLegacy), cudaSuccess);
  EXPECT_EQ(capture.end(), 0U);
}

}  // namespace
