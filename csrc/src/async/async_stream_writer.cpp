// SPDX-License-Identifier: Apache-2.0
#include "async/calls_in_flight.hpp"
#include "base/nvtx.hpp"

#include <cudf_arrow_bridge/async.hpp>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace cudf_arrow_bridge::detail {

/**
 * @brief The shared state of a writer and a consumer: the requests of the consumer.
 *
 * Tasks also have a share, because consumers call `request` after the release, before they extract
 * the last task. No lock is held while the consumer or `wanted` is called.
 */
class async_producer {
 public:
  async_producer(ArrowAsyncDeviceStreamHandler* handler, std::function<void()> wanted)
    : c_{0, &request, &cancel, nullptr, this},
      handler_{check_usable(handler)},
      wanted_{share_of(std::move(wanted))}
  { handler_->producer = &c_; }

  async_producer(async_producer const&)            = delete;
  async_producer& operator=(async_producer const&) = delete;

 private:
  friend class ::cudf_arrow_bridge::async_stream_writer;

  /// The private data of an `ArrowAsyncTask`.
  struct task {
    std::shared_ptr<async_producer> producer;
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
    auto& self = *static_cast<async_producer*>(producer->private_data);
    self.note([&] {
      // Not reported here, because the consumer must not be called within a request.
      self.is_request_bad_ |= count <= 0;
      auto const room = std::numeric_limits<std::int64_t>::max() - self.num_requested_;
      self.num_requested_ += std::clamp(count, std::int64_t{0}, room);
    });
  }

  static void cancel(ArrowAsyncProducer* producer) noexcept
  {
    auto& self = *static_cast<async_producer*>(producer->private_data);
    self.note([&] { self.is_cancelled_ = true; });
  }

  static int extract_data(ArrowAsyncTask* offered, ArrowDeviceArray* out) noexcept
  {
    auto const taken = std::unique_ptr<task>{static_cast<task*>(offered->private_data)};
    {
      auto const lock = std::lock_guard{taken->producer->mutex_};
      if (taken->producer->offered_ == taken.get()) { taken->producer->offered_ = nullptr; }
    }
    if (out != nullptr) { taken->array.move_to(out); }
    return 0;
  }

  /// Changes the number of requested arrays, and notifies the owner of the writer.
  template <typename Note>
  void note(Note const& note) noexcept
  {
    auto lock = std::unique_lock{mutex_};
    if (is_cancelled_ || is_closed_) { return; }
    note();
    auto const wanted = wanted_;
    // With the lock, because the thread in `wait` may destroy this object.
    changed_.notify_all();
    lock.unlock();
    if (wanted != nullptr) { (*wanted)(); }
  }

  [[nodiscard]] bool is_over() const noexcept
  {
    auto const lock = std::lock_guard{mutex_};
    return is_cancelled_ || is_closed_;
  }

  /// Call this with the lock.
  [[nodiscard]] std::int64_t num_wanted() const noexcept
  {
    if (is_cancelled_ || is_closed_) { return 0; }
    return std::max(num_requested_, std::int64_t{is_request_bad_});
  }

  void finish() noexcept
  {
    if (fail_bad_request()) { return; }
    if (!is_over()) { (void)handler_->on_next_task(handler_, nullptr, nullptr); }
    close();
  }

  void fail(int code, std::string const& message, std::string const& metadata) noexcept
  {
    if (!is_over()) {
      handler_->on_error(handler_, code, message.c_str(), metadata_or_null(metadata));
    }
    close();
  }

  /// Reports a request for less than one array. @return Whether there was one
  bool fail_bad_request() noexcept
  {
    {
      auto const lock = std::lock_guard{mutex_};
      if (!is_request_bad_) { return false; }
    }
    fail(EINVAL, "the consumer requested fewer than one array", {});
    return true;
  }

  void close() noexcept
  {
    auto* const handler = std::exchange(handler_, nullptr);
    if (handler == nullptr) { return; }
    auto lock         = std::unique_lock{mutex_};
    is_closed_        = true;
    auto const wanted = std::move(wanted_);
    changed_.notify_all();
    lock.unlock();
    handler->release(handler);
  }

  ArrowAsyncProducer c_;
  std::string metadata_;
  ArrowAsyncDeviceStreamHandler* handler_;  ///< null: released; used only by the writer

  mutable std::mutex mutex_;  ///< guards the members below
  mutable std::condition_variable changed_;
  shared_callback wanted_;         ///< null: not set, or after `release`
  std::int64_t num_requested_{0};  ///< and not written
  bool is_request_bad_{false};
  bool is_cancelled_{false};
  bool is_closed_{false};
  task* offered_{nullptr};  ///< passed to the running call of `on_next_task`, and not extracted
};

}  // namespace cudf_arrow_bridge::detail

namespace cudf_arrow_bridge {

async_stream_writer::async_stream_writer() noexcept = default;

async_stream_writer::async_stream_writer(ArrowAsyncDeviceStreamHandler* handler,
                                         std::function<void()> wanted)
  : producer_{std::make_shared<detail::async_producer>(handler, std::move(wanted))}
{
}

async_stream_writer::async_stream_writer(async_stream_writer&& other) noexcept = default;

async_stream_writer& async_stream_writer::operator=(async_stream_writer&& other) noexcept
{
  auto taken = std::move(other);
  producer_.swap(taken.producer_);  // the destructor of `taken` ends the stream of this writer
  return *this;
}

async_stream_writer::~async_stream_writer()
{
  if (producer_ != nullptr) { fail(ECANCELED, "the producer gave up", {}); }
}

bool async_stream_writer::open(unique_schema schema,
                               ArrowDeviceType device_type,
                               std::string metadata)
{
  auto& self = *producer_;
  if (self.handler_ == nullptr) { return false; }
  self.metadata_              = std::move(metadata);
  self.c_.device_type         = device_type;
  self.c_.additional_metadata = detail::metadata_or_null(self.metadata_);
  if (self.handler_->on_schema(self.handler_, schema.get()) == 0) { return true; }
  self.close();
  return false;
}

std::int64_t async_stream_writer::num_wanted() const noexcept
{
  auto const lock = std::lock_guard{producer_->mutex_};
  return producer_->num_wanted();
}

void async_stream_writer::wait() const
{
  auto const& self = *producer_;
  auto lock        = std::unique_lock{self.mutex_};
  self.changed_.wait(
    lock, [&] { return self.num_wanted() > 0 || self.is_cancelled_ || self.is_closed_; });
}

bool async_stream_writer::is_over() const noexcept { return producer_->is_over(); }

bool async_stream_writer::write(unique_device_array array, std::string const& metadata)
{
  detail::nvtx_range const range{__func__};
  auto& self = *producer_;
  auto made  = std::make_unique<detail::async_producer::task>(producer_, std::move(array));
  auto lock  = std::unique_lock{self.mutex_};
  if (self.is_cancelled_ || self.is_closed_ || self.is_request_bad_) {
    lock.unlock();
    finish();  // which does not report an end then
    return false;
  }
  if (self.num_requested_ == 0) { throw std::logic_error{"more arrays than were requested"}; }
  if (auto const found = made->array.get()->device_type; found != self.c_.device_type) {
    throw std::invalid_argument{"expected arrays of device type " +
                                std::to_string(self.c_.device_type) + ", got device type " +
                                std::to_string(found)};
  }
  --self.num_requested_;
  self.offered_ = made.get();
  lock.unlock();
  auto offered = ArrowAsyncTask{&detail::async_producer::extract_data, made.release()};
  auto const code =
    self.handler_->on_next_task(self.handler_, &offered, detail::metadata_or_null(metadata));
  lock.lock();
  auto* const left = std::exchange(self.offered_, nullptr);
  lock.unlock();
  if (code == 0) { return true; }
  made.reset(left);
  self.close();
  return false;
}

void async_stream_writer::finish() noexcept { producer_->finish(); }

void async_stream_writer::fail(int code,
                               std::string const& message,
                               std::string const& metadata) noexcept
{ producer_->fail(code, message, metadata); }

}  // namespace cudf_arrow_bridge
