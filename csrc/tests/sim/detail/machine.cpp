// SPDX-License-Identifier: Apache-2.0
#include "sim/detail/machine.hpp"

#include <pthread.h>

#include <algorithm>
#include <utility>

namespace sim::detail {

cudaEvent_t event_table::create(int device, unsigned int flags)
{
  auto const event = reinterpret_cast<cudaEvent_t>(++last_id_ * 16);
  events_.emplace(event, event_state{device, flags, nullptr});
  return event;
}

event_state* event_table::find(cudaEvent_t event)
{
  auto const found = events_.find(event);
  return found == events_.end() ? nullptr : &found->second;
}

void event_table::forget_records()
{
  for (auto& [handle, event] : events_) { event.record = nullptr; }
}

void fault_table::add(std::string_view function, cudaError_t error, int after)
{ faults_.push_back({std::string{function}, error, after}); }

cudaError_t fault_table::next(std::string_view function)
{
  if (sticky_ != cudaSuccess) { return sticky_; }
  auto const found = std::ranges::find(faults_, function, &fault::function);
  if (found == faults_.end() || found->after-- > 0) { return cudaSuccess; }
  auto const error = found->error;
  faults_.erase(found);
  return error;
}

machine& machine::instance()
{
  static auto* all = [] {
    // Forked children read counters, so no other thread may hold the mutex at the fork.
    pthread_atfork([] { instance().mutex.lock(); },
                   [] { instance().mutex.unlock(); },
                   [] {
                     instance().work.forget_streams();
                     instance().mutex.unlock();
                   });
    return new machine;
  }();
  return *all;
}

stream_state* machine::find_stream(cudaStream_t handle)
{ return work.streams().find(handle, current_device()); }

void machine::count_host_sync()
{
  ++host_syncs;
  ++host_syncs_of_thread();
}

void machine::wait_for_device(std::unique_lock<std::mutex>& lock, int device)
{
  auto newest = std::vector<operation_ptr>{};
  for (auto const& stream : work.streams().all()) {
    if (stream->device == device) { newest.push_back(stream->last); }
  }
  for (auto const& op : newest) { work.wait(lock, op); }
}

bool machine::free_on(std::unique_lock<std::mutex>& lock, stream_state& stream, void* freed)
{
  auto* taken = memory.deallocate_on(stream.id, freed);
  if (taken == nullptr) {
    violations.emplace_back("memory was freed that was not given out");
    return false;
  }
  auto overwrite = [this, taken, size = taken->size, uses = taken->num_uses, id = stream.id] {
    scribble(taken->data, size, freed_byte);
    auto const inner = std::unique_lock{mutex};
    memory.stream_passed(id, taken, uses);
  };
  work.enqueue(stream, std::move(overwrite));
  work.advance(lock);
  return true;
}

cudaError_t machine::begin_call(std::string_view function)
{
  work.note_activity();
  ++calls[std::string{function}];
  if (scheduler::in_operation()) {
    violations.push_back(std::string{function} + " was called by an operation of a stream");
    return cudaErrorNotPermitted;
  }
  return faults.next(function);
}

int& current_device()
{
  thread_local int device = 0;
  return device;
}

cudaError_t& last_error()
{
  thread_local auto error = cudaSuccess;
  return error;
}

std::size_t& host_syncs_of_thread()
{
  thread_local std::size_t count = 0;
  return count;
}

}  // namespace sim::detail
