// SPDX-License-Identifier: Apache-2.0
#include "sim/detail/machine.hpp"

#include <cuda_runtime_api.h>

using sim::detail::call;

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags)
{
  return call(__func__, [&](auto& all, auto&) {
    *event = all.events.create(sim::detail::current_device(), flags);
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event)
{ return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
  return call(__func__, [&](auto& all, auto&) {
    return all.events.destroy(event) ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
  return call(__func__, [&](auto& all, auto& lock) {
    auto* state     = all.events.find(event);
    auto* recording = all.find_stream(stream);
    if (state == nullptr || recording == nullptr || state->device != recording->device) {
      return cudaErrorInvalidResourceHandle;
    }
    state->record = all.work.enqueue(*recording, {});
    all.work.advance(lock);
    return cudaSuccess;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
  return call(__func__, [&](auto& all, auto& lock) {
    auto const* state = all.events.find(event);
    if (state == nullptr) { return cudaErrorInvalidResourceHandle; }
    auto const record = state->record;
    all.work.poll(lock);
    return is_done(record) ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
  return call(__func__, [&](auto& all, auto& lock) {
    all.count_host_sync();
    auto const* state = all.events.find(event);
    if (state == nullptr) { return cudaErrorInvalidResourceHandle; }
    all.work.wait(lock, sim::detail::operation_ptr{state->record});
    return cudaSuccess;
  });
}
