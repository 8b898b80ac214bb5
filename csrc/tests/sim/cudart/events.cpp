// SPDX-License-Identifier: Apache-2.0
#include "sim/detail/machine.hpp"

#include <cuda_runtime_api.h>

using sim::detail::call;

namespace {

/// Checks a call that waits for an event or queries it. An error invalidates captures.
cudaError_t check_wait(sim::detail::machine& all, sim::detail::event_state const& event)
{
  if (event.captured_by == nullptr) { return all.check_unsafe_call(); }
  event.captured_by->valid = false;
  return cudaErrorCapturedEvent;
}

}  // namespace

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags)
{
  return call(__func__, [&](auto& all, auto&) {
    *event = all.events.create(sim::detail::current_device(), flags);
    return cudaSuccess;
  });
}

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
    if (auto const status = all.check_enqueue(*recording); status != cudaSuccess) { return status; }
    state->record      = all.work.enqueue(*recording, {});
    state->captured_by = recording->captured_by;
    all.work.advance(lock);
    return cudaSuccess;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
  return call(__func__, [&](auto& all, auto& lock) {
    auto const* state = all.events.find(event);
    if (state == nullptr) { return cudaErrorInvalidResourceHandle; }
    if (auto const status = check_wait(all, *state); status != cudaSuccess) { return status; }
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
    if (auto const status = check_wait(all, *state); status != cudaSuccess) { return status; }
    all.work.wait(lock, sim::detail::operation_ptr{state->record});
    return cudaSuccess;
  });
}
