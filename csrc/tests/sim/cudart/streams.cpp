// SPDX-License-Identifier: Apache-2.0
#include "sim/detail/machine.hpp"

#include <cuda_runtime_api.h>

using sim::detail::call;
using sim::detail::stream_type;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags)
{
  return call(__func__, [&](auto& all, auto& lock) {
    sim::detail::scheduler::join(lock, all.work.streams().take_retired());
    auto const type =
      flags == cudaStreamNonBlocking ? stream_type::non_blocking : stream_type::blocking;
    *stream = all.work.create_stream(sim::detail::current_device(), type);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
  return call(__func__, [&](auto& all, auto&) {
    return all.work.streams().destroy(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
  return call(__func__, [&](auto& all, auto& lock) {
    all.count_host_sync();
    auto const* state = all.find_stream(stream);
    if (state == nullptr) { return cudaErrorInvalidResourceHandle; }
    if (auto const status = all.check_wait(*state); status != cudaSuccess) { return status; }
    all.work.wait(lock, sim::detail::operation_ptr{state->last});
    return cudaSuccess;
  });
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
  return call(__func__, [&](auto& all, auto& lock) {
    auto const* state = all.find_stream(stream);
    if (state == nullptr) { return cudaErrorInvalidResourceHandle; }
    if (auto const status = all.check_wait(*state); status != cudaSuccess) { return status; }
    auto const last = state->last;
    all.work.poll(lock);
    return is_done(last) ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags)
{
  return call(__func__, [&](auto& all, auto&) {
    auto const* state = all.find_stream(stream);
    if (state == nullptr) { return cudaErrorInvalidResourceHandle; }
    *flags = state->type == stream_type::non_blocking ? cudaStreamNonBlocking : cudaStreamDefault;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id)
{
  return call(__func__, [&](auto& all, auto&) {
    auto const* state = all.find_stream(stream);
    if (state == nullptr) { return cudaErrorInvalidResourceHandle; }
    *id = state->id;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int)
{
  return call(__func__, [&](auto& all, auto& lock) {
    auto* waiting       = all.find_stream(stream);
    auto const* awaited = all.events.find(event);
    if (waiting == nullptr || awaited == nullptr) { return cudaErrorInvalidResourceHandle; }
    if (auto const status = all.check_enqueue(*waiting); status != cudaSuccess) { return status; }
    if (waiting->captured_by != nullptr && waiting->captured_by != awaited->captured_by) {
      waiting->captured_by->valid = false;
      return cudaErrorStreamCaptureIsolation;
    }
    if (awaited->captured_by != nullptr && !awaited->captured_by->valid) {
      return cudaErrorCapturedEvent;
    }
    // A stream that waits for a captured event is captured, too.
    waiting->captured_by = awaited->captured_by;
    all.work.enqueue(*waiting, {}, {awaited->record});
    all.work.advance(lock);
    return cudaSuccess;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data)
{
  return call(__func__, [&](auto& all, auto& lock) {
    auto* state = all.find_stream(stream);
    if (state == nullptr) { return cudaErrorInvalidResourceHandle; }
    if (auto const status = all.check_enqueue(*state); status != cudaSuccess) { return status; }
    all.work.enqueue(*state, [=] { function(data); });
    all.work.advance(lock);
    return cudaSuccess;
  });
}
