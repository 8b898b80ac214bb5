// SPDX-License-Identifier: Apache-2.0
#include "sim/detail/streams.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>

namespace sim::detail {
namespace {

constexpr std::uint64_t default_weight = 1;

/// Ids are never reused, so that using a destroyed stream is always detected.
std::uint64_t next_id()
{
  static std::uint64_t last = 0xFFFF;
  return ++last;
}

/// Unlike thread ids of the operating system, these numbers are never reused.
std::uint64_t number_of_this_thread()
{
  static std::atomic<std::uint64_t> last{0};
  thread_local auto const number = ++last;
  return number;
}

cudaStream_t handle_of(stream_state const& stream)
{ return reinterpret_cast<cudaStream_t>(stream.id * 16); }

}  // namespace

bool stream_state::is_ready() const
{ return !held && !queue.empty() && std::ranges::all_of(queue.front()->after, is_done); }

stream_state& stream_table::add(int device, stream_type type, std::uint64_t weight)
{
  // Not movable because of the condition variable.
  all_.push_back(std::unique_ptr<stream_state>{
    new stream_state{next_id(), next_number_++, device, type, weight}});
  return *all_.back();
}

cudaStream_t stream_table::create(int device, stream_type type, std::uint64_t weight)
{
  auto& stream      = add(device, type, weight);
  auto const handle = handle_of(stream);
  handles_.emplace(handle, &stream);
  return handle;
}

bool stream_table::destroy(cudaStream_t handle)
{
  auto const found = handles_.find(handle);
  if (found == handles_.end()) { return false; }
  auto& stream     = *found->second;
  stream.destroyed = true;
  handles_.erase(found);
  return true;
}

stream_state* stream_table::find(cudaStream_t handle, int device)
{
  if (handle == cudaStream_t{} || handle == cudaStreamLegacy) {
    auto& stream = legacy_[device];
    if (stream == nullptr) { stream = &add(device, stream_type::legacy, default_weight); }
    return stream;
  }
  if (handle == cudaStreamPerThread) {
    auto& stream = per_thread_[{device, number_of_this_thread()}];
    if (stream == nullptr) { stream = &add(device, stream_type::blocking, default_weight); }
    return stream;
  }
  auto const found = handles_.find(handle);
  return found == handles_.end() ? nullptr : found->second;
}

operation_ptr stream_table::enqueue(stream_state& stream,
                                    std::function<void()> work,
                                    std::vector<operation_ptr> after)
{
  if (stream.captured_by != nullptr) {
    ++stream.captured_by->num_nodes;
    return nullptr;
  }
  for (auto const& other : all_) {
    auto const ordered =
      (stream.type == stream_type::legacy && other->type == stream_type::blocking) ||
      (stream.type == stream_type::blocking && other->type == stream_type::legacy);
    if (ordered && other->device == stream.device) { after.push_back(other->last); }
  }
  stream.last = std::make_shared<operation>(operation{std::move(work), std::move(after)});
  stream.queue.push_back(stream.last);
  return stream.last;
}

stream_table::streams stream_table::take_retired()
{
  auto const first = std::stable_partition(
    all_.begin(), all_.end(), [](auto const& s) { return !s->destroyed || !s->queue.empty(); });
  auto result = streams{std::move_iterator{first}, std::move_iterator{all_.end()}};
  all_.erase(first, all_.end());
  return result;
}

stream_table::streams stream_table::take_all()
{
  handles_.clear();
  legacy_.clear();
  per_thread_.clear();
  next_number_ = 0;
  return std::exchange(all_, {});
}

}  // namespace sim::detail
