// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <condition_variable>
#include <mutex>
#include <string>

namespace cudf_arrow_bridge::test {

/**
 * @brief Passes calls between a producer and the handler of a consumer, and records them.
 *
 * Must outlive the stream and all its tasks.
 */
class witness {
 public:
  explicit witness(ArrowAsyncDeviceStreamHandler* consumer) : consumer_{consumer} {}

  witness(witness&&) = delete;

  /// @return The handler for the producer
  [[nodiscard]] ArrowAsyncDeviceStreamHandler* handler() { return &outer_; }

  /// Block until the producer has released the handler.
  void wait_for_release()
  {
    auto lock = std::unique_lock{mutex_};
    released_.wait(lock, [this] { return calls_.ends_with('r'); });
  }

  /**
   * @brief Return the calls of the producer: `s` for `on_schema`, `t` for a task, `n` for a null
   * task, `x` for `on_error`, `r` for `release`. Upper case: the consumer returned an error.
   */
  [[nodiscard]] std::string calls()
  {
    auto const lock = std::lock_guard{mutex_};
    return calls_;
  }

  /// @return The number of cancels of the consumer
  [[nodiscard]] int num_cancels()
  {
    auto const lock = std::lock_guard{mutex_};
    return num_cancels_;
  }

  /// @return The number of tasks that the producer passed without a request; 0 if it follows the
  ///   protocol
  [[nodiscard]] std::int64_t num_unrequested()
  {
    auto const lock = std::lock_guard{mutex_};
    return num_unrequested_;
  }

 private:
  static witness& of(ArrowAsyncDeviceStreamHandler* self)
  { return *static_cast<witness*>(self->private_data); }

  static witness& of(ArrowAsyncProducer* self)
  { return *static_cast<witness*>(self->private_data); }

  void note(char call)
  {
    auto const lock = std::lock_guard{mutex_};
    calls_ += call;
    if (call == 't' && --num_wanted_ < 0) { ++num_unrequested_; }
    // Under the lock: the waiting thread may destroy this object as soon as it sees the call.
    if (call == 'r') { released_.notify_all(); }
  }

  /// Record that the consumer rejected the last call of this kind.
  void note_refusal(char call)
  {
    auto const lock            = std::lock_guard{mutex_};
    calls_[calls_.rfind(call)] = static_cast<char>(call - 'a' + 'A');
  }

  static int on_schema(ArrowAsyncDeviceStreamHandler* self, ArrowSchema* schema)
  {
    auto& here               = of(self);
    here.producer_           = self->producer;
    here.consumer_->producer = &here.seen_producer_;
    // Set before the call: within it, the consumer may request all, and the producer may finish.
    here.seen_producer_.device_type         = self->producer->device_type;
    here.seen_producer_.additional_metadata = self->producer->additional_metadata;
    here.note('s');
    auto const code = here.consumer_->on_schema(here.consumer_, schema);
    if (code != 0) { here.note_refusal('s'); }
    return code;
  }

  static int on_next_task(ArrowAsyncDeviceStreamHandler* self,
                          ArrowAsyncTask* task,
                          char const* metadata)
  {
    auto& here      = of(self);
    auto const call = task == nullptr ? 'n' : 't';
    here.note(call);
    auto const code = here.consumer_->on_next_task(here.consumer_, task, metadata);
    if (code != 0) { here.note_refusal(call); }
    return code;
  }

  static void on_error(ArrowAsyncDeviceStreamHandler* self,
                       int code,
                       char const* message,
                       char const* metadata)
  {
    auto& here = of(self);
    here.note('x');
    here.consumer_->on_error(here.consumer_, code, message, metadata);
  }

  static void release(ArrowAsyncDeviceStreamHandler* self)
  {
    auto& here = of(self);
    here.consumer_->release(here.consumer_);
    here.note('r');
  }

  static void request(ArrowAsyncProducer* self, std::int64_t n)
  {
    auto& here = of(self);
    {
      auto const lock = std::lock_guard{here.mutex_};
      here.num_wanted_ += n;
    }
    here.producer_->request(here.producer_, n);
  }

  static void cancel(ArrowAsyncProducer* self)
  {
    auto& here = of(self);
    {
      auto const lock = std::lock_guard{here.mutex_};
      ++here.num_cancels_;
    }
    here.producer_->cancel(here.producer_);
  }

  std::mutex mutex_;
  std::condition_variable released_;
  std::string calls_;
  int num_cancels_{0};
  std::int64_t num_wanted_{0};
  std::int64_t num_unrequested_{0};

  ArrowAsyncDeviceStreamHandler* consumer_;
  ArrowAsyncDeviceStreamHandler outer_{on_schema, on_next_task, on_error, release, nullptr, this};
  ArrowAsyncProducer seen_producer_{0, request, cancel, nullptr, this};
  ArrowAsyncProducer* producer_{nullptr};
};

}  // namespace cudf_arrow_bridge::test
