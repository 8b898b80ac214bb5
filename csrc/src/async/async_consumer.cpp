// SPDX-License-Identifier: Apache-2.0
#include "async/async_consumer.hpp"

#include "async/calls_in_flight.hpp"
#include "base/nvtx.hpp"
#include "base/utf8.hpp"

#include <cudf_arrow_bridge/async.hpp>

#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

constexpr auto second_schema = "expected one call of on_schema before the end, got another";

/// Lets the producer free a task whose array is not needed.
void drop(ArrowAsyncTask& task) noexcept { (void)task.extract_data(&task, nullptr); }

}  // namespace

async_consumer::async_consumer(std::int64_t prefetch, std::function<void()> notify)
  : prefetch_{prefetch},
    handler_{&on_schema, &on_next_task, &on_error, &release, nullptr, this},
    notify_{share_of(std::move(notify))}
{
  if (prefetch <= 0) {
    throw std::invalid_argument{"prefetch: expected at least 1, got " + std::to_string(prefetch)};
  }
}

ArrowAsyncDeviceStreamHandler* async_consumer::take_handler()
{
  auto const lock = std::lock_guard{mutex_};
  if (std::exchange(is_taken_, true)) {
    throw std::logic_error{"expected an unused handler, got one that has a producer already"};
  }
  producers_share_ = shared_from_this();
  return &handler_;
}

int async_consumer::on_schema(ArrowAsyncDeviceStreamHandler* handler, ArrowSchema* schema) noexcept
{
  auto& self = of(handler);
  try {
    auto owned = schema == nullptr ? unique_schema{} : unique_schema{schema};
    return self.open(handler->producer, std::move(owned));
  } catch (std::exception const& error) {
    self.fail(ENOMEM, error.what(), {});
    return ENOMEM;
  }
}

int async_consumer::open(ArrowAsyncProducer* producer, unique_schema schema)
{
  auto const refuse = [this](char const* what) {
    fail(EPROTO, what, {});
    return EPROTO;
  };
  if (producer == nullptr || producer->request == nullptr || producer->cancel == nullptr) {
    return refuse(
      "on_schema: expected a handler with a producer and its callbacks, got one without");
  }
  if (schema.is_released()) { return refuse("on_schema: expected a schema, got a released one"); }
  auto metadata = copy_metadata(producer->additional_metadata);

  // A producer that runs its whole stream within the request releases its share there.
  auto const share = shared_from_this();
  auto lock        = std::unique_lock{mutex_};
  if (is_cancelled_) { return ECANCELED; }
  if (has_schema_ || is_over()) {
    lock.unlock();
    return refuse(second_schema);
  }
  producer_      = producer;
  schema_        = std::move(schema);
  device_type_   = producer->device_type;
  metadata_      = std::move(metadata);
  has_schema_    = true;
  num_requested_ = prefetch_;
  {
    auto const call = calls_in_flight::call{calls_, lock};
    producer->request(producer, prefetch_);
  }
  notify(lock);
  return 0;
}

int async_consumer::on_next_task(ArrowAsyncDeviceStreamHandler* handler,
                                 ArrowAsyncTask* task,
                                 char const* metadata) noexcept
{
  auto& self = of(handler);
  if (task == nullptr) {
    self.end();
    return 0;
  }
  try {
    return self.take(task, metadata);
  } catch (std::exception const& error) {
    self.fail(ENOMEM, error.what(), {});
    return ENOMEM;
  }
}

/// If this returns an error, the producer frees the task.
int async_consumer::take(ArrowAsyncTask* given, char const* metadata)
{
  auto taken = std::list<task>{};
  taken.push_back({*given, copy_metadata(metadata)});
  auto lock = std::unique_lock{mutex_};
  if (is_over()) {
    auto const is_lost = !is_cancelled_ && !failure_;
    if (is_lost) {
      keep_failure(EPROTO, "expected no array after the end of the stream, got one", {});
    }
    is_lost ? notify(lock) : lock.unlock();
    drop(taken.front().c);
    return 0;
  }
  if (num_requested_ == 0) {
    lock.unlock();
    fail(EPROTO, "expected as many arrays as were requested, got one more", {});
    return EPROTO;
  }
  tasks_.splice(tasks_.end(), taken);
  --num_requested_;
  notify(lock);
  return 0;
}

void async_consumer::end()
{
  auto lock = std::unique_lock{mutex_};
  if (!has_schema_ && !is_over()) {
    keep_failure(EPROTO, "expected a schema, got the end of the stream", {});
  }
  has_ended_ = true;
  notify(lock);
}

void async_consumer::on_error(ArrowAsyncDeviceStreamHandler* handler,
                              int code,
                              char const* message,
                              char const* metadata) noexcept
{
  auto& self = of(handler);
  try {
    auto const text =
      to_utf8(message != nullptr && *message != '\0' ? message : strerror(code == 0 ? EIO : code));
    self.fail(code, text.c_str(), copy_metadata(metadata));
  } catch (std::exception const&) {
    self.fail(code, "", {});
  }
}

void async_consumer::release(ArrowAsyncDeviceStreamHandler* handler) noexcept
{ of(handler).release_handler(); }

void async_consumer::release_handler() noexcept
{
  auto lock  = std::unique_lock{mutex_};
  auto share = std::move(producers_share_);
  if (share == nullptr) { return; }
  if (!is_over()) {
    keep_failure(EPROTO, "the producer released the handler before the end of the stream", {});
  }
  // Another thread may be in a call of the producer, which may be freed after this.
  calls_.wait(lock);
  notify(lock);
  lock.lock();
  auto const dropped = std::move(notify_);
  lock.unlock();
}

void async_consumer::abandon() noexcept { release_handler(); }

/// Ends the stream with an error, unless it has ended.
void async_consumer::fail(int code, char const* message, std::string metadata) noexcept
{
  auto lock = std::unique_lock{mutex_};
  if (is_over()) { return; }
  keep_failure(code, message, std::move(metadata));
  notify(lock);
}

void async_consumer::keep_failure(int code, char const* message, std::string metadata) noexcept
{
  failure_.emplace(failure{code, {}, std::move(metadata)});
  try {
    failure_->message = message;
  } catch (std::bad_alloc const&) {
    failure_->message.clear();
  }
}

/// Notifies of a change that was made with the lock. Releases the lock.
void async_consumer::notify(std::unique_lock<std::mutex>& lock) const noexcept
{
  auto const notify = notify_;
  lock.unlock();
  changed_.notify_all();
  if (notify != nullptr) { (*notify)(); }
}

bool async_consumer::has_schema() const noexcept
{
  auto const lock = std::lock_guard{mutex_};
  return has_schema_ || is_over();
}

ArrowSchema const& async_consumer::schema() const
{
  auto const lock = std::lock_guard{mutex_};
  if (has_schema_) { return *schema_.get(); }
  if (failure_) { raise(*failure_); }
  throw std::logic_error{"expected a stream whose schema is known, got one that has not begun"};
}

ArrowDeviceType async_consumer::device_type() const noexcept
{
  auto const lock = std::lock_guard{mutex_};
  return device_type_;
}

std::string const& async_consumer::metadata() const noexcept
{
  static auto const none = std::string{};
  auto const lock        = std::lock_guard{mutex_};
  return has_schema_ ? metadata_ : none;
}

bool async_consumer::is_ready() const noexcept
{
  auto const lock = std::lock_guard{mutex_};
  return !tasks_.empty() || is_over();
}

void async_consumer::wait() const
{
  auto lock = std::unique_lock{mutex_};
  changed_.wait(lock, [&] { return !tasks_.empty() || is_over(); });
}

std::optional<async_batch> async_consumer::next()
{
  auto lock = std::unique_lock{mutex_};
  if (is_cancelled_) { return async_batch{}; }
  if (tasks_.empty()) {
    if (failure_) { raise(*failure_); }
    return has_ended_ ? std::optional{async_batch{}} : std::nullopt;
  }
  auto taken = std::list<task>{};
  taken.splice(taken.end(), tasks_, tasks_.begin());
  if (!is_over()) {
    ++num_requested_;
    // Request before the task is extracted: after their last task, some producers live only as long
    // as their tasks.
    auto* const producer = producer_;
    auto const call      = calls_in_flight::call{calls_, lock};
    producer->request(producer, 1);
  }
  lock.unlock();
  return async_batch{extract(taken.front().c), std::move(taken.front().metadata)};
}

/// Extracts the array of a task. If there is none, the stream ends there, whatever follows.
unique_device_array async_consumer::extract(ArrowAsyncTask& from)
{
  auto array      = ArrowDeviceArray{};
  auto const code = from.extract_data(&from, &array);
  // The producer's array, if it set one before it failed.
  if (array.array.release != nullptr && code == 0) { return unique_device_array{&array}; }
  auto lock           = std::unique_lock{mutex_};
  auto const was_over = is_over();
  if (!failure_) {
    auto const* const text =
      code != 0 ? strerror(code) : "expected a task with an array, got one without";
    keep_failure(code != 0 ? code : EIO, text, {});
  }
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): `keep_failure` sets it.
  auto const found = *failure_;
  stop(lock, !was_over);
  raise(found);
}

void async_consumer::cancel() noexcept
{
  // A forked child does not have the threads that would answer, and may have inherited a lock of
  // theirs.
  if (!made_in_.is_of_this_process()) { return; }
  auto lock = std::unique_lock{mutex_};
  if (is_cancelled_) { return; }
  auto const was_over = is_over();
  is_cancelled_       = true;
  stop(lock, !was_over);
  notify(lock);
}

/// Drops the tasks of the producer and cancels it.
void async_consumer::stop(std::unique_lock<std::mutex>& lock, bool tell_producer) noexcept
{
  auto dropped = std::list<task>{};
  dropped.swap(tasks_);
  if (tell_producer && producer_ != nullptr) {
    // Like `next`, while tasks keep the producer alive.
    auto* const producer = producer_;
    auto const call      = calls_in_flight::call{calls_, lock};
    producer->cancel(producer);
  }
  lock.unlock();
  for (auto& each : dropped) { drop(each.c); }
  lock.lock();
}

void async_consumer::raise(failure const& failure)
{ throw async_stream_error{failure.code, failure.message, failure.metadata}; }

}  // namespace cudf_arrow_bridge::detail

namespace cudf_arrow_bridge {

async_stream_reader::async_stream_reader() noexcept = default;

async_stream_reader::async_stream_reader(std::int64_t prefetch, std::function<void()> notify)
  : consumer_{std::make_shared<detail::async_consumer>(prefetch, std::move(notify))}
{
}

async_stream_reader::async_stream_reader(async_stream_reader&& other) noexcept = default;

async_stream_reader& async_stream_reader::operator=(async_stream_reader&& other) noexcept
{
  if (this != &other) {
    cancel();
    consumer_ = std::move(other.consumer_);
  }
  return *this;
}

async_stream_reader::~async_stream_reader() { cancel(); }

ArrowAsyncDeviceStreamHandler* async_stream_reader::take_handler()
{ return consumer_->take_handler(); }

void async_stream_reader::abandon() noexcept { consumer_->abandon(); }

bool async_stream_reader::has_schema() const noexcept { return consumer_->has_schema(); }

ArrowSchema const& async_stream_reader::schema() const { return consumer_->schema(); }

ArrowDeviceType async_stream_reader::device_type() const noexcept
{ return consumer_->device_type(); }

std::string const& async_stream_reader::metadata() const noexcept { return consumer_->metadata(); }

bool async_stream_reader::is_ready() const noexcept { return consumer_->is_ready(); }

void async_stream_reader::wait() const { consumer_->wait(); }

std::optional<async_batch> async_stream_reader::next()
{
  detail::nvtx_range const range{__func__};
  return consumer_->next();
}

void async_stream_reader::cancel() noexcept
{
  if (consumer_ != nullptr) { consumer_->cancel(); }
}

}  // namespace cudf_arrow_bridge
