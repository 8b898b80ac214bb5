// SPDX-License-Identifier: Apache-2.0
#include "async/shared_callback.hpp"
#include "base/nvtx.hpp"
#include "base/utf8.hpp"
#include "cuda/ordering/process.hpp"

#include <cudf_arrow_bridge/async.hpp>

#include <nanoarrow/nanoarrow.h>

#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

/// Copies the metadata of a producer, encoded as in `ArrowSchema.metadata`; null means empty.
std::string copy_metadata(char const* metadata)
{
  auto const size = ArrowMetadataSizeOf(metadata);
  return size > 0 ? std::string(metadata, static_cast<std::size_t>(size)) : std::string{};
}

/// A call of this thread into the producer of a consumer.
struct producer_call {
  void const* consumer;
  producer_call const* outer;  ///< the call that this one runs within
  static inline thread_local producer_call const* innermost{nullptr};
};

}  // namespace

/**
 * @brief The shared state of a reader and a producer: the handler, and the tasks that were
 *   delivered and not taken.
 *
 * `release` drops the producer's share. No lock is held while the producer, or `notify`, is called.
 */
class async_consumer : public std::enable_shared_from_this<async_consumer> {
 public:
  async_consumer(std::int64_t prefetch, std::function<void()> notify)
    : prefetch_{prefetch},
      handler_{&on_schema, &on_next_task, &on_error, &release, nullptr, this},
      notify_{share_of(std::move(notify))}
  {
    if (prefetch <= 0) {
      throw std::invalid_argument{"prefetch: expected at least 1, got " + std::to_string(prefetch)};
    }
  }

  async_consumer(async_consumer const&)            = delete;
  async_consumer& operator=(async_consumer const&) = delete;

 private:
  friend class ::cudf_arrow_bridge::async_stream_reader;

  /// An array that the producer has delivered.
  struct task {
    ArrowAsyncTask c;
    std::string metadata;

    /// Lets the producer free a task whose array is not needed.
    void drop() noexcept { (void)c.extract_data(&c, nullptr); }
  };

  static async_consumer& of(ArrowAsyncDeviceStreamHandler* handler) noexcept
  { return *static_cast<async_consumer*>(handler->private_data); }

  static int on_schema(ArrowAsyncDeviceStreamHandler* handler, ArrowSchema* schema) noexcept
  {
    return of(handler).receive([&](async_consumer& self) {
      auto owned = schema == nullptr ? unique_schema{} : unique_schema{schema};
      return self.open(handler->producer, std::move(owned));
    });
  }

  static int on_next_task(ArrowAsyncDeviceStreamHandler* handler,
                          ArrowAsyncTask* task,
                          char const* metadata) noexcept
  {
    auto const code = of(handler).receive([&](async_consumer& self) {
      return task == nullptr ? self.end() : self.take(*task, metadata);
    });
    // The consumer frees each task, also one that it rejects.
    if (code != 0 && task != nullptr && task->extract_data != nullptr) {
      (void)task->extract_data(task, nullptr);
    }
    return code;
  }

  static void on_error(ArrowAsyncDeviceStreamHandler* handler,
                       int code,
                       char const* message,
                       char const* metadata) noexcept
  {
    (void)of(handler).receive([&](async_consumer& self) {
      auto const text = to_utf8(
        message != nullptr && *message != '\0' ? message : strerror(code == 0 ? EIO : code));
      return self.fail(code, text.c_str(), copy_metadata(metadata));
    });
  }

  static void release(ArrowAsyncDeviceStreamHandler* handler) noexcept
  { of(handler).release_handler(); }

  /// Drops the producer's share, when the producer releases the handler or never got it.
  void release_handler() noexcept
  {
    auto lock  = std::unique_lock{mutex_};
    auto share = std::move(producers_share_);
    if (share == nullptr) { return; }
    if (!is_over()) {
      keep_failure(EPROTO, "the producer released the handler before the end of the stream", {});
    }
    // Another thread may be in a call of the producer, which may be freed after this. A call of
    // this thread itself cannot return before.
    auto num_own = std::size_t{0};
    for (auto const* own = producer_call::innermost; own != nullptr; own = own->outer) {
      num_own += own->consumer == this ? 1 : 0;
    }
    changed_.wait(lock, [&] { return num_calls_ <= num_own; });
    notify(lock);
    lock.lock();
    auto const dropped = std::move(notify_);
    lock.unlock();
  }

  /// Runs a callback of the producer. An exception ends the stream.
  template <typename Receive>
  int receive(Receive const& receive) noexcept
  {
    try {
      return receive(*this);
    } catch (std::exception const& error) {
      return fail(ENOMEM, error.what());
    }
  }

  int open(ArrowAsyncProducer* producer, unique_schema schema)
  {
    if (producer == nullptr || producer->request == nullptr || producer->cancel == nullptr) {
      return fail(EPROTO,
                  "on_schema: the handler has no producer, or the producer lacks a callback");
    }
    if (schema.is_released()) { return fail(EPROTO, "on_schema: the schema is released"); }
    auto metadata = copy_metadata(producer->additional_metadata);

    // A producer that runs its whole stream within the request releases its share there.
    auto const share = shared_from_this();
    auto lock        = std::unique_lock{mutex_};
    if (is_cancelled_) { return ECANCELED; }
    if (has_schema() || is_over()) {
      lock.unlock();
      return fail(EPROTO, "on_schema was called again, or after the end");
    }
    producer_      = producer;
    schema_        = std::move(schema);
    device_type_   = producer->device_type;
    metadata_      = std::move(metadata);
    num_requested_ = prefetch_;
    call_producer(lock, [this] { producer_->request(producer_, prefetch_); });
    notify(lock);
    return 0;
  }

  /// If this returns an error, the caller drops the task.
  int take(ArrowAsyncTask const& given, char const* metadata)
  {
    if (given.extract_data == nullptr) {
      return fail(EPROTO, "on_next_task: the task has no extract_data");
    }
    auto taken = std::list<task>{};
    taken.push_back({given, copy_metadata(metadata)});
    auto lock = std::unique_lock{mutex_};
    if (is_over()) {
      auto const is_lost = !is_cancelled_ && !failure_;
      if (is_lost) {
        keep_failure(EPROTO, "the producer sent an array after the end of the stream", {});
      }
      is_lost ? notify(lock) : lock.unlock();
      taken.front().drop();
      return 0;
    }
    if (num_requested_ == 0) {
      lock.unlock();
      return fail(EPROTO, "more arrays than were requested");
    }
    tasks_.splice(tasks_.end(), taken);
    --num_requested_;
    notify(lock);
    return 0;
  }

  int end()
  {
    auto lock = std::unique_lock{mutex_};
    if (!has_schema() && !is_over()) {
      keep_failure(EPROTO, "the stream ended before its schema", {});
    }
    has_ended_ = true;
    notify(lock);
    return 0;
  }

  /// Ends the stream with an error, unless it has ended. @return The code, for the producer
  int fail(int code, char const* message, std::string metadata = {}) noexcept
  {
    auto lock = std::unique_lock{mutex_};
    if (is_over()) { return code; }
    keep_failure(code, message, std::move(metadata));
    notify(lock);
    return code;
  }

  /// Calls the producer without the lock. The producer is kept alive until the call returns.
  template <typename Call>
  void call_producer(std::unique_lock<std::mutex>& lock, Call const& call) noexcept
  {
    auto const own           = producer_call{this, producer_call::innermost};
    producer_call::innermost = &own;
    ++num_calls_;
    lock.unlock();
    call();
    lock.lock();
    --num_calls_;
    producer_call::innermost = own.outer;
    changed_.notify_all();
  }

  /// Call these and `keep_failure` with the lock.
  [[nodiscard]] bool has_schema() const noexcept { return !schema_.is_released(); }
  [[nodiscard]] bool is_over() const noexcept
  { return is_cancelled_ || has_ended_ || failure_.has_value(); }
  [[nodiscard]] bool is_ready() const noexcept { return !tasks_.empty() || is_over(); }

  void keep_failure(int code, char const* message, std::string metadata) noexcept
  {
    try {
      failure_.emplace(code, message, std::move(metadata));
    } catch (std::bad_alloc const&) {
      failure_.emplace(code, std::string{}, std::string{});
    }
  }

  /// Notifies of a change that was made with the lock. Releases the lock.
  void notify(std::unique_lock<std::mutex>& lock) const noexcept
  {
    auto const notify = notify_;
    lock.unlock();
    changed_.notify_all();
    if (notify != nullptr) { (*notify)(); }
  }

  /// Extracts the array of a task. If there is none, the stream ends there, whatever follows.
  [[nodiscard]] unique_device_array extract(ArrowAsyncTask& from)
  {
    auto array      = ArrowDeviceArray{};
    auto const code = from.extract_data(&from, &array);
    // The producer's array, if it set one before it failed.
    auto owned           = array.array.release != nullptr && code == 0 ? unique_device_array{&array}
                                                                       : unique_device_array{};
    auto lock            = std::unique_lock{mutex_};
    auto const fits_type = array.device_type == device_type_;
    if (!owned.is_released() && fits_type) { return owned; }
    auto const was_over = is_over();
    if (!failure_) {
      if (code != 0) {
        keep_failure(code, strerror(code), {});
      } else if (owned.is_released()) {
        keep_failure(EIO, "the task has no array", {});
      } else {
        auto const text = "expected arrays of device type " + std::to_string(device_type_) +
                          " as of the producer, got device type " +
                          std::to_string(array.device_type);
        keep_failure(EPROTO, text.c_str(), {});
      }
    }
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): `keep_failure` sets it.
    auto const found = *failure_;
    stop(lock, !was_over);
    throw async_stream_error{found};
  }

  void cancel() noexcept
  {
    // A forked child does not have the threads that would answer, and may have inherited a lock of
    // theirs.
    if (!creator_process_.is_of_this_process()) { return; }
    auto lock = std::unique_lock{mutex_};
    if (is_cancelled_) { return; }
    auto const was_over = is_over();
    is_cancelled_       = true;
    stop(lock, !was_over);
    notify(lock);
  }

  /// Drops the tasks of the producer and cancels it.
  void stop(std::unique_lock<std::mutex>& lock, bool cancels_producer) noexcept
  {
    auto dropped = std::list<task>{};
    dropped.swap(tasks_);
    if (cancels_producer && producer_ != nullptr) {
      // Like `next`, while tasks keep the producer alive.
      call_producer(lock, [this] { producer_->cancel(producer_); });
    }
    lock.unlock();
    for (auto& each : dropped) { each.drop(); }
    lock.lock();
  }

  std::int64_t prefetch_;
  ArrowAsyncDeviceStreamHandler handler_;
  process_id creator_process_;

  mutable std::mutex mutex_;  ///< guards the members below
  mutable std::condition_variable changed_;
  shared_callback notify_;  ///< null: not set, or after `release`
  std::shared_ptr<async_consumer> producers_share_;
  bool is_taken_{false};
  ArrowAsyncProducer* producer_{nullptr};  ///< not called before `on_schema` or after the end
  std::size_t num_calls_{0};               ///< of the producer that are running
  unique_schema schema_;                   ///< once set, it and the next two do not change
  ArrowDeviceType device_type_{0};
  std::string metadata_;
  std::int64_t num_requested_{0};  ///< and not delivered
  std::list<task> tasks_;          ///< handed over and not taken

  bool has_ended_{false};
  bool is_cancelled_{false};
  std::optional<async_stream_error> failure_;
};

}  // namespace cudf_arrow_bridge::detail

namespace cudf_arrow_bridge {

async_stream_reader::async_stream_reader(std::int64_t prefetch, std::function<void()> notify)
{
  auto consumer       = std::make_shared<detail::async_consumer>(prefetch, std::move(notify));
  auto* const pointer = consumer.get();
  consumer_           = {pointer, [owner = std::move(consumer)](auto*) { owner->cancel(); }};
}

ArrowAsyncDeviceStreamHandler* async_stream_reader::take_handler()
{
  auto const lock = std::lock_guard{consumer_->mutex_};
  if (std::exchange(consumer_->is_taken_, true)) {
    throw std::logic_error{"the handler has a producer already"};
  }
  consumer_->producers_share_ = consumer_->shared_from_this();
  return &consumer_->handler_;
}

void async_stream_reader::abandon() noexcept { consumer_->release_handler(); }

void async_stream_reader::fail(int code, std::string const& message) noexcept
{ (void)consumer_->fail(code, message.c_str()); }

bool async_stream_reader::has_schema() const noexcept
{
  auto const lock = std::lock_guard{consumer_->mutex_};
  return consumer_->has_schema() || consumer_->is_over();
}

ArrowSchema const& async_stream_reader::schema() const
{
  auto const lock = std::lock_guard{consumer_->mutex_};
  if (consumer_->has_schema()) { return *consumer_->schema_.get(); }
  if (consumer_->failure_) { throw async_stream_error{*consumer_->failure_}; }
  throw std::logic_error{"the schema is not known yet: the stream has not begun"};
}

ArrowDeviceType async_stream_reader::device_type() const noexcept
{
  auto const lock = std::lock_guard{consumer_->mutex_};
  return consumer_->device_type_;
}

std::string const& async_stream_reader::metadata() const noexcept
{
  static auto const none = std::string{};
  auto const lock        = std::lock_guard{consumer_->mutex_};
  return consumer_->has_schema() ? consumer_->metadata_ : none;
}

bool async_stream_reader::is_ready() const noexcept
{
  auto const lock = std::lock_guard{consumer_->mutex_};
  return consumer_->is_ready();
}

void async_stream_reader::wait() const
{
  auto lock = std::unique_lock{consumer_->mutex_};
  consumer_->changed_.wait(lock, [&] { return consumer_->is_ready(); });
}

std::optional<async_batch> async_stream_reader::next()
{
  detail::nvtx_range const range{__func__};
  auto& self = *consumer_;
  auto lock  = std::unique_lock{self.mutex_};
  if (self.is_cancelled_) { return async_batch{}; }
  if (self.tasks_.empty()) {
    if (self.failure_) { throw async_stream_error{*self.failure_}; }
    return self.has_ended_ ? std::optional{async_batch{}} : std::nullopt;
  }
  auto taken = std::list<detail::async_consumer::task>{};
  taken.splice(taken.end(), self.tasks_, self.tasks_.begin());
  if (!self.is_over()) {
    ++self.num_requested_;
    // Request before the task is extracted: after their last task, some producers live only as long
    // as their tasks.
    self.call_producer(lock, [&] { self.producer_->request(self.producer_, 1); });
  }
  lock.unlock();
  return async_batch{self.extract(taken.front().c), std::move(taken.front().metadata)};
}

void async_stream_reader::cancel() noexcept
{
  if (consumer_ != nullptr) { consumer_->cancel(); }
}

}  // namespace cudf_arrow_bridge
