// SPDX-License-Identifier: Apache-2.0
#include "sim/detail/machine.hpp"

#include <pthread.h>

#include <algorithm>
#include <thread>
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

void fault_table::add_delay(std::string_view function, std::function<void()> action)
{ delays_.emplace(function, std::move(action)); }

void fault_table::delay(std::string_view function, std::unique_lock<std::mutex>& lock)
{
  auto const found = delays_.find(function);
  if (found == delays_.end()) { return; }
  auto const action = delays_.extract(found);
  lock.unlock();
  action.mapped()();
  lock.lock();
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

cudaError_t machine::check_unsafe_call()
{
  auto result = cudaSuccess;
  for (auto const& stream : work.streams().all()) {
    auto const& open = stream->captured_by;
    if (open == nullptr) { continue; }
    auto const is_own  = open->thread == std::this_thread::get_id();
    auto const forbids = capture_mode() != cudaStreamCaptureModeRelaxed &&
                         ((is_own && open->mode != cudaStreamCaptureModeRelaxed) ||
                          (capture_mode() == cudaStreamCaptureModeGlobal &&
                           open->mode == cudaStreamCaptureModeGlobal));
    if (!forbids) { continue; }
    open->valid = false;
    result      = cudaErrorStreamCaptureUnsupported;
  }
  return result;
}

bool machine::blocks_legacy(int device) const
{
  return std::ranges::any_of(work.streams().all(), [device](auto const& stream) {
    return stream->device == device && stream->type == stream_type::blocking &&
           stream->captured_by != nullptr;
  });
}

cudaError_t machine::check_enqueue(stream_state const& stream)
{
  if (stream.captured_by != nullptr) {
    return stream.captured_by->valid ? cudaSuccess : cudaErrorStreamCaptureInvalidated;
  }
  if (stream.type != stream_type::legacy || !blocks_legacy(stream.device)) { return cudaSuccess; }
  for (auto const& other : work.streams().all()) {
    if (other->device == stream.device && other->type == stream_type::blocking &&
        other->captured_by != nullptr) {
      other->captured_by->valid = false;
    }
  }
  return cudaErrorStreamCaptureImplicit;
}

cudaError_t machine::check_wait(stream_state const& stream)
{
  if (stream.captured_by != nullptr) {
    stream.captured_by->valid = false;
    return cudaErrorStreamCaptureUnsupported;
  }
  auto const status = check_unsafe_call();
  return status == cudaSuccess ? check_enqueue(stream) : status;
}

void machine::count_host_sync() { ++host_syncs_of_thread(); }

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

cudaStreamCaptureMode& capture_mode()
{
  thread_local auto mode = cudaStreamCaptureModeGlobal;
  return mode;
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
