// SPDX-License-Identifier: Apache-2.0
#include "async/worker_pool.hpp"

#include "cuda/ordering/process.hpp"

#include <cudf_arrow_bridge/async.hpp>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <thread>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

constexpr auto default_max_threads = std::size_t{256};

/// A source that blocks forever must not prevent the process from exiting.
constexpr auto stop_timeout = std::chrono::seconds{1};

thread_local worker_pool const* pool_of_thread = nullptr;  ///< null: not a thread of a pool

std::size_t max_threads_of_environment()
{
  auto const* const value = std::getenv("CUDF_ARROW_BRIDGE_MAX_THREADS");
  auto const text         = value == nullptr ? std::string_view{} : std::string_view{value};
  auto number             = std::size_t{0};
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number > 0 ? number : default_max_threads;
}

}  // namespace

pooled_work::~pooled_work() = default;

// NOLINTNEXTLINE(bugprone-exception-escape): a shared pointer owns it, and the pool has started.
void pooled_work::schedule() noexcept
{
  // The first request queues the work. The later ones are counted, and `run` sees them.
  if (num_requests_.fetch_add(1) == 0) { worker_pool::instance().push(shared_from_this()); }
}

bool pooled_work::run() noexcept
{
  auto const num_served = num_requests_.load();
  return take_step() || num_requests_.fetch_sub(num_served) > num_served;
}

worker_pool::worker_pool() : worker_pool{max_threads_of_environment()} {}

worker_pool& worker_pool::instance()
{
  static constinit per_process<worker_pool> pool;
  return pool.get();
}

void worker_pool::start()
{
  auto const lock = std::lock_guard{mutex_};
  if (num_threads_ > 0) { return; }
  add_thread();
  std::atexit([] { instance().stop(); });
}

void worker_pool::add_thread()
{
  std::thread{[this] { run(); }}.detach();
  ++num_threads_;
  ++num_idle_;
}

void worker_pool::push(std::shared_ptr<pooled_work> work) noexcept
{
  auto const lock = std::lock_guard{mutex_};
  if (is_stopped_) { return; }
  append(std::move(work));
  pushed_.notify_one();
  if (num_queued_ > num_idle_ && num_threads_ < max_threads_) {
    try {
      add_thread();
    } catch (std::exception const&) {
      return;  // the existing threads will handle it
    }
  }
}

void worker_pool::append(std::shared_ptr<pooled_work> work) noexcept
{
  auto* const appended                        = work.get();
  (first_ == nullptr ? first_ : last_->next_) = std::move(work);
  last_                                       = appended;
  ++num_queued_;
}

void worker_pool::run() noexcept
{
  pool_of_thread = this;
  auto lock      = std::unique_lock{mutex_};
  for (;;) {
    pushed_.wait(lock, [&] { return first_ != nullptr && !is_stopped_; });
    auto work = std::move(first_);
    first_    = std::move(work->next_);
    --num_queued_;
    --num_idle_;
    lock.unlock();
    if (!work->run()) { work.reset(); }
    lock.lock();
    ++num_idle_;
    // No notification: this thread continues with the queue.
    if (work != nullptr) { append(std::move(work)); }
    finished_.notify_all();
  }
}

void worker_pool::stop() noexcept
{
  auto lock = std::unique_lock{mutex_};
  if (std::exchange(is_stopped_, true)) { return; }
  auto const own    = std::size_t{pool_of_thread == this};
  auto const stands = [&] { return num_threads_ - num_idle_ <= own; };
  finished_.wait_for(lock, stop_timeout, stands);
}

}  // namespace cudf_arrow_bridge::detail

void cudf_arrow_bridge::stop_async() noexcept { detail::worker_pool::instance().stop(); }
