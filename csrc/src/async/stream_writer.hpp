// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "async/shared_callback.hpp"
#include "base/nvtx.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/owners.hpp>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Sends arrays to the handler of a consumer, as many as it has requested.
 *
 * Methods may be called from any thread, by one thread at a time. No lock is held while the
 * consumer or `cancelled` is called. A `shared_ptr` must own the object: tasks have a share,
 * because consumers call `request` after the release, before they extract the last task.
 */
class stream_writer : public std::enable_shared_from_this<stream_writer> {
 public:
  /**
   * @brief Takes ownership of a handler. Call `finish` or `fail` to release it, or destroy this
   *   object before any other call to give it back.
   *
   * @throws std::invalid_argument if the handler lacks a callback; the caller then still owns it
   *
   * @param handler A consumer's handler
   * @param cancelled Called when the consumer cancels, on its thread, also from within calls of
   *   this object's methods. Must not throw. Must not acquire a lock that a caller of these methods
   *   holds. Destroyed when the handler is released, or when a call that is running then has
   *   returned
   */
  stream_writer(ArrowAsyncDeviceStreamHandler* handler, std::function<void()> cancelled)
    : c_{0, &request, &cancel, nullptr, this},
      handler_{check_usable(handler)},
      cancelled_{share_of(std::move(cancelled))}
  { handler_->producer = &c_; }

  /// The caller still owns a handler whose stream was not started.
  ~stream_writer()
  {
    if (handler_ != nullptr) { handler_->producer = nullptr; }
  }

  stream_writer(stream_writer const&)            = delete;
  stream_writer& operator=(stream_writer const&) = delete;

  /**
   * @brief Calls `on_schema`.
   *
   * @param schema Schema of all arrays
   * @param device_type Kind of memory of all arrays
   * @return Whether the consumer takes the stream; if not, the handler has been released
   */
  bool open(unique_schema schema, ArrowDeviceType device_type)
  {
    if (handler_ == nullptr) { return false; }
    c_.device_type = device_type;
    if (handler_->on_schema(handler_, schema.get()) == 0) { return true; }
    close();
    return false;
  }

  /// @return The number of arrays that are requested and not written; 0 after `is_over`
  [[nodiscard]] std::int64_t num_wanted() const noexcept
  {
    auto const lock = std::lock_guard{mutex_};
    return is_over_ ? 0 : std::max(num_requested_, std::int64_t{is_request_bad_});
  }

  /// Blocks until `num_wanted` is positive or `is_over`, or after `stop`.
  void wait() const
  {
    auto lock = std::unique_lock{mutex_};
    changed_.wait(lock,
                  [&] { return num_requested_ > 0 || is_request_bad_ || is_over_ || is_stopped_; });
  }

  /// Ends `wait`, now and later. May be called by another thread than the other methods.
  void stop() noexcept
  {
    auto const lock = std::lock_guard{mutex_};
    is_stopped_     = true;
    changed_.notify_all();
  }

  /// @return Whether nothing more can be written: the stream has ended, or the consumer cancelled
  [[nodiscard]] bool is_over() const noexcept
  {
    auto const lock = std::lock_guard{mutex_};
    return is_over_;
  }

  /**
   * @brief Calls `on_next_task` with an array that is already converted: extracting it moves it.
   *
   * @throws std::logic_error if none is wanted
   * @throws std::invalid_argument if the device type of the array is not that of the stream
   *
   * @return Whether the consumer took it; if not, the handler has been released
   */
  bool write(unique_device_array array)
  {
    nvtx_range const range{__func__};
    auto made = std::make_unique<task>(shared_from_this(), std::move(array));
    auto lock = std::unique_lock{mutex_};
    if (is_over_ || is_request_bad_) {
      lock.unlock();
      finish();  // which does not report an end then
      return false;
    }
    if (num_requested_ == 0) { throw std::logic_error{"more arrays than were requested"}; }
    if (auto const found = made->array.get()->device_type; found != c_.device_type) {
      throw std::invalid_argument{"expected arrays of device type " +
                                  std::to_string(c_.device_type) + ", got device type " +
                                  std::to_string(found)};
    }
    --num_requested_;
    offered_ = made.get();
    lock.unlock();
    auto offered    = ArrowAsyncTask{&extract_data, made.release()};
    auto const code = handler_->on_next_task(handler_, &offered, nullptr);
    lock.lock();
    auto* const left = std::exchange(offered_, nullptr);
    lock.unlock();
    if (code == 0) { return true; }
    made.reset(left);
    close();
    return false;
  }

  /// Calls `on_next_task` with NULL, then `release`. If the consumer has cancelled, only `release`.
  void finish() noexcept
  {
    auto lock                 = std::unique_lock{mutex_};
    auto const is_request_bad = is_request_bad_;
    lock.unlock();
    if (is_request_bad) { return fail(EINVAL, "the consumer requested fewer than one array"); }
    if (!is_over()) { (void)handler_->on_next_task(handler_, nullptr, nullptr); }
    close();
  }

  /// Calls `on_error`, then `release`. If the consumer has cancelled, only `release`.
  void fail(int code, char const* message) noexcept
  {
    if (!is_over()) { handler_->on_error(handler_, code, message, nullptr); }
    close();
  }

 private:
  /// The private data of an `ArrowAsyncTask`.
  struct task {
    std::shared_ptr<stream_writer> writer;
    unique_device_array array;
  };

  static ArrowAsyncDeviceStreamHandler* check_usable(ArrowAsyncDeviceStreamHandler* handler)
  {
    if (handler == nullptr || handler->on_schema == nullptr || handler->on_next_task == nullptr ||
        handler->on_error == nullptr || handler->release == nullptr) {
      throw std::invalid_argument{"the handler lacks a callback"};
    }
    return handler;
  }

  static void request(ArrowAsyncProducer* producer, std::int64_t count) noexcept
  {
    auto& self      = *static_cast<stream_writer*>(producer->private_data);
    auto const lock = std::lock_guard{self.mutex_};
    // Not reported here, because the consumer must not be called within a request.
    self.is_request_bad_ |= count <= 0;
    auto const room = std::numeric_limits<std::int64_t>::max() - self.num_requested_;
    self.num_requested_ += std::clamp(count, std::int64_t{0}, room);
    // With the lock, because the thread in `wait` may destroy this object.
    self.changed_.notify_all();
  }

  static void cancel(ArrowAsyncProducer* producer) noexcept
  {
    auto& self = *static_cast<stream_writer*>(producer->private_data);
    auto lock  = std::unique_lock{self.mutex_};
    if (std::exchange(self.is_over_, true)) { return; }
    auto const cancelled = self.cancelled_;
    self.changed_.notify_all();
    lock.unlock();
    if (cancelled != nullptr) { (*cancelled)(); }
  }

  static int extract_data(ArrowAsyncTask* offered, ArrowDeviceArray* out) noexcept
  {
    auto const taken = std::unique_ptr<task>{static_cast<task*>(offered->private_data)};
    {
      auto const lock = std::lock_guard{taken->writer->mutex_};
      if (taken->writer->offered_ == taken.get()) { taken->writer->offered_ = nullptr; }
    }
    if (out != nullptr) { taken->array.move_to(out); }
    return 0;
  }

  void close() noexcept
  {
    auto* const handler = std::exchange(handler_, nullptr);
    if (handler == nullptr) { return; }
    auto lock            = std::unique_lock{mutex_};
    is_over_             = true;
    auto const cancelled = std::move(cancelled_);
    lock.unlock();
    handler->release(handler);
  }

  ArrowAsyncProducer c_;
  ArrowAsyncDeviceStreamHandler* handler_;  ///< null: released; used only by the owner

  mutable std::mutex mutex_;  ///< guards the members below
  mutable std::condition_variable changed_;
  shared_callback cancelled_;      ///< null: not set, or after `release`
  std::int64_t num_requested_{0};  ///< and not written
  bool is_request_bad_{false};
  bool is_over_{false};  ///< the stream has ended, or the consumer has cancelled
  bool is_stopped_{false};
  task* offered_{nullptr};  ///< passed to the running call of `on_next_task`, and not extracted
};

}  // namespace cudf_arrow_bridge::detail
