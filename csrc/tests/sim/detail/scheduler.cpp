// SPDX-License-Identifier: Apache-2.0
#include "sim/detail/scheduler.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace sim::detail {
namespace {

/// After this time without a call, the program is taken to wait for the device by other means.
constexpr auto idle_time = std::chrono::milliseconds{100};

/// After this time of waiting with nothing to run, the program is taken to be deadlocked.
constexpr auto deadlock_timeout = std::chrono::seconds{20};

thread_local bool in_operation_here = false;

}  // namespace

bool scheduler::in_operation() { return in_operation_here; }

void scheduler::restart(std::uint64_t seed)
{
  random_                               = generator{seed};
  constexpr std::uint64_t eagernesses[] = {0, 1, 4, 8};
  eagerness_                            = eagernesses[random_.draw(std::size(eagernesses))];
}

cudaStream_t scheduler::create_stream(int device, stream_type type)
{
  // With equal weights, long runs of operations of one stream would be rare.
  constexpr std::uint64_t weights[] = {1, 4, 16};
  return streams_.create(device, type, weights[random_.draw(std::size(weights))]);
}

operation_ptr scheduler::enqueue(stream_state& stream,
                                 std::function<void()> work,
                                 std::vector<operation_ptr> after)
{
  if (!watches_idleness_) {
    watches_idleness_ = true;
    std::thread{[this] { run_when_idle(); }}.detach();
  }
  changed_->notify_all();
  return streams_.enqueue(stream, std::move(work), std::move(after));
}

void scheduler::hold(stream_state& stream, bool held)
{
  stream.held = held;
  changed_->notify_all();
}

stream_state* scheduler::pick()
{
  auto total = std::uint64_t{0};
  for (auto const& stream : streams_.all()) { total += stream->is_ready() ? stream->weight : 0; }
  if (total == 0) { return nullptr; }
  auto ticket = random_.draw(total);
  for (auto const& stream : streams_.all()) {
    if (!stream->is_ready()) { continue; }
    if (ticket < stream->weight) { return stream.get(); }
    ticket -= stream->weight;
  }
  return nullptr;
}

operation_ptr scheduler::start(stream_state& stream)
{
  if (!stream.worker.joinable()) {
    stream.worker = std::thread{[this, &stream] { run_stream(stream); }};
  }
  auto const& op = stream.queue.front();
  running_       = &stream;
  stream.wake.notify_one();
  return op;
}

void scheduler::wait(lock_type& lock, operation_ptr const& op)
{
  while (!is_done(op)) {
    if (running_ == nullptr) {
      if (auto* stream = pick(); stream != nullptr) {
        start(*stream);
      } else if (changed_->wait_for(lock, deadlock_timeout) == std::cv_status::timeout) {
        report_standstill();
      } else {
        continue;
      }
    }
    changed_->wait(lock);
  }
}

bool scheduler::run_one(lock_type& lock)
{
  changed_->wait(lock, [this] { return running_ == nullptr; });
  auto* stream = pick();
  if (stream == nullptr) { return false; }
  auto const op = start(*stream);
  changed_->wait(lock, [&] { return op->done; });
  return true;
}

void scheduler::advance(lock_type& lock)
{
  constexpr std::uint64_t most = 4;
  if (random_.draw(8) >= eagerness_) { return; }
  for (auto left = 1 + random_.draw(most); left > 0 && run_one(lock); --left) {}
}

void scheduler::poll(lock_type& lock)
{
  if (random_.draw(2) == 0) { run_one(lock); }
}

void scheduler::drain(lock_type& lock)
{
  while (run_one(lock)) {}
}

void scheduler::run_stream(stream_state& stream)
{
  auto lock = lock_type{mutex_};
  for (;;) {
    stream.wake.wait(lock, [&] { return running_ == &stream || stream.retired; });
    if (running_ != &stream) { return; }
    auto const op = stream.queue.front();
    lock.unlock();
    auto thrown       = std::string{};
    in_operation_here = true;
    try {
      if (op->work) { op->work(); }
    } catch (std::exception const& error) {
      thrown = error.what();
    }
    op->work          = nullptr;
    in_operation_here = false;
    lock.lock();
    if (!thrown.empty()) { exceptions_.push_back("a kernel threw: " + thrown); }
    stream.queue.pop_front();
    op->done = true;
    op->after.clear();
    running_ = nullptr;
    changed_->notify_all();
  }
}

void scheduler::run_when_idle()
{
  auto lock = lock_type{mutex_};
  auto bell = std::condition_variable{};
  for (auto seen = activity_;; seen = activity_) {
    bell.wait_for(lock, idle_time);
    if (activity_ == seen) { drain(lock); }
  }
}

void scheduler::join(lock_type& lock, stream_table::streams const& ended)
{
  for (auto const& stream : ended) {
    stream->retired = true;
    stream->wake.notify_one();
  }
  lock.unlock();
  for (auto const& stream : ended) {
    if (stream->worker.joinable()) { stream->worker.join(); }
  }
  lock.lock();
}

void scheduler::forget_streams()
{
  // Leaked: their threads do not exist in the child, so they cannot be joined. Neither do threads
  // that wait, for which the condition variable would wait.
  new stream_table::streams{streams_.take_all()};
  (void)changed_.release();
  changed_          = std::make_unique<std::condition_variable>();
  running_          = nullptr;
  watches_idleness_ = false;
}

void scheduler::report_standstill() const
{
  std::fputs("simulated CUDA: a thread waits for ever; the streams with work are\n", stderr);
  for (auto const& stream : streams_.all()) {
    if (stream->queue.empty()) { continue; }
    std::fprintf(stderr,
                 "  stream %d of device %d: %d operations, %s\n",
                 static_cast<int>(stream->number),
                 stream->device,
                 static_cast<int>(stream->queue.size()),
                 stream->held ? "held back" : "waiting for another stream");
  }
  std::abort();
}

}  // namespace sim::detail
