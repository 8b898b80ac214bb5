// SPDX-License-Identifier: Apache-2.0
#include "sim/detail/machine.hpp"

#include <cuda_runtime_api.h>

#include <memory>
#include <thread>
#include <utility>

using sim::detail::call;
using sim::detail::capture;
using sim::detail::stream_type;

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode)
{
  return call(__func__, [&](auto&, auto&) {
    std::swap(*mode, sim::detail::capture_mode());
    return cudaSuccess;
  });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode)
{
  return call(__func__, [&](auto& all, auto&) {
    auto* state = all.find_stream(stream);
    if (state == nullptr) { return cudaErrorInvalidResourceHandle; }
    if (state->type == stream_type::legacy) { return cudaErrorStreamCaptureUnsupported; }
    if (state->captured_by != nullptr) { return cudaErrorIllegalState; }
    state->captured_by =
      std::make_shared<capture>(capture{state, std::this_thread::get_id(), mode});
    return cudaSuccess;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* result)
{
  return call(__func__, [&](auto& all, auto&) {
    auto const* state = all.find_stream(stream);
    if (state == nullptr) { return cudaErrorInvalidResourceHandle; }
    if (state->type == stream_type::legacy && all.blocks_legacy(state->device)) {
      return cudaErrorStreamCaptureImplicit;
    }
    auto const& open = state->captured_by;
    *result          = open == nullptr ? cudaStreamCaptureStatusNone
                       : open->valid   ? cudaStreamCaptureStatusActive
                                       : cudaStreamCaptureStatusInvalidated;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph)
{
  return call(__func__, [&](auto& all, auto&) {
    auto const* state = all.find_stream(stream);
    if (state == nullptr) { return cudaErrorInvalidResourceHandle; }
    auto const ended = state->captured_by;
    if (ended == nullptr || ended->origin != state) { return cudaErrorIllegalState; }
    if (ended->mode != cudaStreamCaptureModeRelaxed &&
        ended->thread != std::this_thread::get_id()) {
      return cudaErrorStreamCaptureWrongThread;
    }
    for (auto const& other : all.work.streams().all()) {
      if (other->captured_by == ended) { other->captured_by = nullptr; }
    }
    *graph = nullptr;
    if (!std::exchange(ended->valid, false)) { return cudaErrorStreamCaptureInvalidated; }
    *graph = reinterpret_cast<cudaGraph_t>((all.graphs.size() + 1) * 16);
    all.graphs.emplace(*graph, ended->num_nodes);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, std::size_t* count)
{
  return call(__func__, [&](auto& all, auto&) {
    auto const found = all.graphs.find(graph);
    if (found == all.graphs.end()) { return cudaErrorInvalidValue; }
    *count = found->second;
    return cudaSuccess;
  });
}
