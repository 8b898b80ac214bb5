// SPDX-License-Identifier: Apache-2.0
#include "async/async_producer.hpp"

#include "async/calls_in_flight.hpp"
#include "base/nvtx.hpp"

#include <cudf_arrow_bridge/async.hpp>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

ArrowAsyncDeviceStreamHandler* check_usable(ArrowAsyncDeviceStreamHandler* handler)
{
  if (handler == nullptr || handler->on_schema == nullptr || handler->on_next_task == nullptr ||
      handler->on_error == nullptr || handler->release == nullptr) {
    throw std::invalid_argument{"expected a handler with all of its callbacks, got one without"};
  }
  return handler;
}

}  // namespace

async_producer::async_producer(ArrowAsyncDeviceStreamHandler* handler, std::function<void()> wanted)
  : c_{0, &request, &cancel, nullptr, this},
    handler_{check_usable(handler)},
    wanted_{share_of(std::move(wanted))}
{ handler_->producer = &c_; }

bool async_producer::open(unique_schema schema, ArrowDeviceType device_type, std::string metadata)
{
  if (handler_ == nullptr) { return false; }
  metadata_              = std::move(metadata);
  c_.device_type         = device_type;
  c_.additional_metadata = metadata_or_null(metadata_);
  if (handler_->on_schema(handler_, schema.get()) == 0) { return true; }
  close();
  return false;
}

/// Changes the number of requested arrays, and notifies the owner of the writer.
template <typename Note>
void async_producer::note(Note const& note) noexcept
{
  auto lock = std::unique_lock{mutex_};
  if (is_cancelled_ || is_closed_) { return; }
  note();
  auto const wanted = wanted_;
  lock.unlock();
  if (wanted != nullptr) { (*wanted)(); }
}

void async_producer::request(ArrowAsyncProducer* producer, std::int64_t count) noexcept
{
  auto& self = *static_cast<async_producer*>(producer->private_data);
  self.note([&] {
    // Not reported here, because the consumer must not be called within a request.
    self.is_request_bad_ |= count <= 0;
    auto const room = std::numeric_limits<std::int64_t>::max() - self.num_requested_;
    self.num_requested_ += std::clamp(count, std::int64_t{0}, room);
  });
}

void async_producer::cancel(ArrowAsyncProducer* producer) noexcept
{
  auto& self = *static_cast<async_producer*>(producer->private_data);
  self.note([&] { self.is_cancelled_ = true; });
}

std::int64_t async_producer::num_wanted() const noexcept
{
  auto const lock = std::lock_guard{mutex_};
  if (is_cancelled_ || is_closed_) { return 0; }
  return std::max(num_requested_, std::int64_t{is_request_bad_});
}

bool async_producer::is_over() const noexcept
{
  auto const lock = std::lock_guard{mutex_};
  return is_cancelled_ || is_closed_;
}

bool async_producer::write(unique_device_array array, std::string const& metadata)
{
  auto made = std::make_unique<task>(shared_from_this(), std::move(array));
  auto lock = std::unique_lock{mutex_};
  if (is_cancelled_ || is_closed_ || is_request_bad_) {
    lock.unlock();
    finish();  // which does not report an end then
    return false;
  }
  if (num_requested_ == 0) {
    throw std::logic_error{"expected as many arrays as were requested, got one more"};
  }
  --num_requested_;
  offered_ = made.get();
  lock.unlock();
  auto offered       = ArrowAsyncTask{&extract_data, made.release()};
  auto const refusal = handler_->on_next_task(handler_, &offered, metadata_or_null(metadata));
  lock.lock();
  auto* const left = std::exchange(offered_, nullptr);
  lock.unlock();
  if (refusal == 0) { return true; }
  made.reset(left);
  close();
  return false;
}

int async_producer::extract_data(ArrowAsyncTask* offered, ArrowDeviceArray* out) noexcept
{
  auto const taken = std::unique_ptr<task>{static_cast<task*>(offered->private_data)};
  {
    auto const lock = std::lock_guard{taken->producer->mutex_};
    if (taken->producer->offered_ == taken.get()) { taken->producer->offered_ = nullptr; }
  }
  if (out != nullptr) { taken->array.move_to(out); }
  return 0;
}

void async_producer::finish() noexcept
{
  if (fail_bad_request()) { return; }
  if (!is_over()) { (void)handler_->on_next_task(handler_, nullptr, nullptr); }
  close();
}

void async_producer::fail(int code,
                          std::string const& message,
                          std::string const& metadata) noexcept
{
  if (!is_over()) {
    handler_->on_error(handler_, code, message.c_str(), metadata_or_null(metadata));
  }
  close();
}

/// Reports a request for less than one array. @return Whether there was one
bool async_producer::fail_bad_request() noexcept
{
  {
    auto const lock = std::lock_guard{mutex_};
    if (!is_request_bad_) { return false; }
  }
  fail(EINVAL, "expected a request for at least one array, got fewer", {});
  return true;
}

void async_producer::close() noexcept
{
  auto* const handler = std::exchange(handler_, nullptr);
  if (handler == nullptr) { return; }
  auto lock         = std::unique_lock{mutex_};
  is_closed_        = true;
  auto const wanted = std::move(wanted_);
  lock.unlock();
  handler->release(handler);
}

}  // namespace cudf_arrow_bridge::detail

namespace cudf_arrow_bridge {
namespace {

void end_dropped(std::shared_ptr<detail::async_producer> const& producer) noexcept
{
  if (producer != nullptr) { producer->fail(ECANCELED, "the producer gave up", {}); }
}

}  // namespace

async_stream_writer::async_stream_writer() noexcept = default;

async_stream_writer::async_stream_writer(ArrowAsyncDeviceStreamHandler* handler,
                                         std::function<void()> wanted)
  : producer_{std::make_shared<detail::async_producer>(handler, std::move(wanted))}
{
}

async_stream_writer::async_stream_writer(async_stream_writer&& other) noexcept = default;

async_stream_writer& async_stream_writer::operator=(async_stream_writer&& other) noexcept
{
  if (this != &other) {
    end_dropped(producer_);
    producer_ = std::move(other.producer_);
  }
  return *this;
}

async_stream_writer::~async_stream_writer() { end_dropped(producer_); }

bool async_stream_writer::open(unique_schema schema,
                               ArrowDeviceType device_type,
                               std::string metadata)
{ return producer_->open(std::move(schema), device_type, std::move(metadata)); }

std::int64_t async_stream_writer::num_wanted() const noexcept { return producer_->num_wanted(); }

bool async_stream_writer::is_over() const noexcept { return producer_->is_over(); }

bool async_stream_writer::write(unique_device_array array, std::string const& metadata)
{
  detail::nvtx_range const range{__func__};
  return producer_->write(std::move(array), metadata);
}

void async_stream_writer::finish() noexcept { producer_->finish(); }

void async_stream_writer::fail(int code,
                               std::string const& message,
                               std::string const& metadata) noexcept
{ producer_->fail(code, message, metadata); }

}  // namespace cudf_arrow_bridge
