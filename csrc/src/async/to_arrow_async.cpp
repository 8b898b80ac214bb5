// SPDX-License-Identifier: Apache-2.0
#include "async/stream_writer.hpp"
#include "cuda/ordering/process.hpp"
#include "stream/exception_code.hpp"

#include <cudf_arrow_bridge/async.hpp>
#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/ordering.hpp>

#include <rmm/cuda_device.hpp>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace cudf_arrow_bridge {
namespace {

/// A source that blocks forever must not prevent the process from exiting.
constexpr auto stop_timeout = std::chrono::seconds{1};

/// The steps of all streams: calls of their sources and handlers. A forked child has its own.
class stream_steps {
 public:
  stream_steps() { std::atexit(stop_async); }

  static stream_steps& instance()
  {
    static constinit detail::per_process<stream_steps> steps;
    return steps.get();
  }

  /// Runs a step on this thread. After `stop` it blocks until the process ends.
  /// @return The result of the step
  bool run(std::function<bool()> const& step)
  {
    auto lock = std::unique_lock{mutex_};
    changed_.wait(lock, [&] { return !is_stopped_; });
    ++num_running_;
    is_in_step_ = true;
    lock.unlock();
    auto const result = step();
    lock.lock();
    is_in_step_ = false;
    --num_running_;
    changed_.notify_all();
    return result;
  }

  /// Starts no more steps, and waits for the running ones.
  void stop() noexcept
  {
    auto lock = std::unique_lock{mutex_};
    if (std::exchange(is_stopped_, true)) { return; }
    auto const own = std::size_t{is_in_step_};
    changed_.wait_for(lock, stop_timeout, [&] { return num_running_ <= own; });
  }

 private:
  static inline thread_local bool is_in_step_{false};

  std::mutex mutex_;  ///< guards the members below; not held during a step
  std::condition_variable changed_;
  std::size_t num_running_{0};
  bool is_stopped_{false};
};

unique_schema schema_of(device_array_stream& source) { return source.schema().to_arrow(); }

unique_schema schema_of(array_stream_reader& source)
{ return copy_schema(source.schema()).to_arrow(); }

/// @return The next array; released at the end. The consumer may release the last reference to it
unique_device_array next_of(device_array_stream& source)
{
  auto const batch = source.next();
  return batch.is_end() ? unique_device_array{} : batch.array.to_arrow();
}

unique_device_array next_of(array_stream_reader& source) { return source.next(); }

/// Reads a source on the thread of its stream: the schema, and an array in each later step.
template <typename Source>
void send(Source source, detail::stream_writer& writer) noexcept
{
  auto is_open    = false;
  auto const step = [&] {
    if (writer.is_over()) {
      writer.finish();  // after a cancel: releases the handler
      source.reset();
      return false;
    }
    try {
      if (!std::exchange(is_open, true)) {
        writer.open(schema_of(source), source.device_type());
      } else if (writer.num_wanted() == 0) {
        writer.fail(ECANCELED, "the source was stopped");
      } else if (auto array = next_of(source); array.is_released()) {
        writer.finish();
      } else {
        writer.write(std::move(array));
      }
    } catch (...) {
      detail::report_exception([&](int code, char const* message) { writer.fail(code, message); });
    }
    return true;
  };
  while (stream_steps::instance().run(step)) { writer.wait(); }
}

template <typename Source>
std::function<void()> start(Source source,
                            ArrowAsyncDeviceStreamHandler* handler,
                            std::function<void()> cancelled)
{
  (void)stream_steps::instance();  // registers its function for the exit of the process
  auto const device = has_gpu() ? rmm::get_current_cuda_device() : rmm::cuda_device_id{-1};
  auto const writer = std::make_shared<detail::stream_writer>(handler, std::move(cancelled));
  // If the thread cannot be started, the caller keeps the handler.
  std::thread{[device, taken = std::move(source), writer]() mutable {
    // Default streams, and allocations of the source, are those of the current device.
    enter_thread(device);
    send(std::move(taken), *writer);
  }}.detach();
  return [weak = std::weak_ptr{writer}] {
    if (auto const living = weak.lock()) { living->stop(); }
  };
}

}  // namespace

std::function<void()> to_arrow_async(device_array_stream source,
                                     ArrowAsyncDeviceStreamHandler* handler,
                                     std::function<void()> cancelled)
{ return start(std::move(source), handler, std::move(cancelled)); }

void to_arrow_async(array_stream_reader source, ArrowAsyncDeviceStreamHandler* handler)
{ (void)start(std::move(source), handler, {}); }

void stop_async() noexcept { stream_steps::instance().stop(); }

}  // namespace cudf_arrow_bridge
