// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace cudf_arrow_bridge::test {

/// Passes each call between a producer and a consumer, and checks that the protocol allows it.
class checking_link {
 public:
  /// @param prefetch The maximum number of requested and waiting tasks
  /// @param within Called within each call, before it is passed on
  checking_link(ArrowAsyncDeviceStreamHandler* consumer,
                std::int64_t prefetch,
                std::function<void()> within)
    : consumer_{consumer}, prefetch_{prefetch}, within_{std::move(within)}
  {
  }

  checking_link(checking_link const&)            = delete;
  checking_link& operator=(checking_link const&) = delete;

  ~checking_link()
  {
    EXPECT_EQ(num_releases_, 1);
    EXPECT_EQ(num_tasks_, num_extractions_);
    EXPECT_LE(num_cancels_, 1);
  }

  [[nodiscard]] ArrowAsyncDeviceStreamHandler* handler() { return &handler_; }
  [[nodiscard]] std::int64_t num_tasks() const { return num_tasks_; }
  [[nodiscard]] bool is_released() const { return num_releases_ > 0; }

 private:
  /// A task that was passed to the consumer.
  struct task {
    checking_link* link;
    ArrowAsyncTask inner;
  };

  /// One call of the handler. Calls must not overlap.
  class handler_call {
   public:
    explicit handler_call(checking_link& link) : link_{link}
    {
      EXPECT_FALSE(link_.is_in_handler_.exchange(true)) << "two calls of the handler at once";
      EXPECT_EQ(link_.num_releases_, 0) << "a call after the release";
      link_.within_();
    }

    handler_call(handler_call const&)            = delete;
    handler_call& operator=(handler_call const&) = delete;

    ~handler_call() { link_.is_in_handler_ = false; }

   private:
    checking_link& link_;
  };

  static checking_link& of(ArrowAsyncDeviceStreamHandler* handler)
  { return *static_cast<checking_link*>(handler->private_data); }

  static checking_link& of(ArrowAsyncProducer* producer)
  { return *static_cast<checking_link*>(producer->private_data); }

  static int on_schema(ArrowAsyncDeviceStreamHandler* handler, ArrowSchema* schema)
  {
    auto& self      = of(handler);
    auto const call = handler_call{self};
    EXPECT_FALSE(std::exchange(self.has_schema_, true));
    EXPECT_FALSE(self.is_over_);
    EXPECT_NE(handler->producer, nullptr);
    self.producer_.device_type         = handler->producer->device_type;
    self.producer_.additional_metadata = handler->producer->additional_metadata;
    self.consumer_->producer           = &self.producer_;
    auto const code                    = self.consumer_->on_schema(self.consumer_, schema);
    self.is_over_ |= code != 0;
    return code;
  }

  static int on_next_task(ArrowAsyncDeviceStreamHandler* handler,
                          ArrowAsyncTask* given,
                          char const* metadata)
  {
    auto& self      = of(handler);
    auto const call = handler_call{self};
    EXPECT_TRUE(self.has_schema_);
    EXPECT_FALSE(self.is_over_);
    if (given == nullptr) {
      self.is_over_ = true;
      return self.consumer_->on_next_task(self.consumer_, nullptr, metadata);
    }
    EXPECT_LT(self.num_tasks_, self.num_requested_) << "more tasks than requested";
    ++self.num_tasks_;
    auto passed     = ArrowAsyncTask{&extract_data, new task{&self, *given}};
    auto const code = self.consumer_->on_next_task(self.consumer_, &passed, metadata);
    EXPECT_EQ(code, 0);
    return code;
  }

  static void on_error(ArrowAsyncDeviceStreamHandler* handler,
                       int code,
                       char const* message,
                       char const* metadata)
  {
    auto& self      = of(handler);
    auto const call = handler_call{self};
    EXPECT_FALSE(std::exchange(self.is_over_, true));
    EXPECT_NE(code, 0);
    self.consumer_->on_error(self.consumer_, code, message, metadata);
  }

  static void release(ArrowAsyncDeviceStreamHandler* handler)
  {
    auto& self      = of(handler);
    auto const call = handler_call{self};
    EXPECT_TRUE(self.is_over_ || self.num_cancels_ > 0) << "released without an end";
    self.consumer_->release(self.consumer_);
    // From now on, no function of this handler or its producer may be called.
    self.is_gone_ = true;
    ++self.num_releases_;
  }

  static void request(ArrowAsyncProducer* producer, std::int64_t count)
  {
    auto& self = of(producer);
    EXPECT_GT(count, 0);
    EXPECT_FALSE(self.is_gone_) << "a request after the release";
    self.num_requested_ += count;
    // The reader requests the next task just before it extracts the last one.
    EXPECT_LE(self.num_requested_ - self.num_extractions_, self.prefetch_ + 1);
    self.within_();
    auto* const inner = self.handler_.producer;
    inner->request(inner, count);
  }

  static void cancel(ArrowAsyncProducer* producer)
  {
    auto& self = of(producer);
    EXPECT_FALSE(self.is_gone_) << "a cancel after the release";
    ++self.num_cancels_;
    self.within_();
    auto* const inner = self.handler_.producer;
    inner->cancel(inner);
  }

  static int extract_data(ArrowAsyncTask* extracted, ArrowDeviceArray* out)
  {
    auto const taken = std::unique_ptr<task>{static_cast<task*>(extracted->private_data)};
    ++taken->link->num_extractions_;
    taken->link->within_();
    return taken->inner.extract_data(&taken->inner, out);
  }

  ArrowAsyncDeviceStreamHandler* consumer_;
  std::int64_t prefetch_;
  std::function<void()> within_;
  ArrowAsyncDeviceStreamHandler handler_{
    &on_schema, &on_next_task, &on_error, &release, nullptr, this};
  ArrowAsyncProducer producer_{0, &request, &cancel, nullptr, this};
  bool has_schema_{false};  ///< only the producer's threads use this and the next member
  bool is_over_{false};
  std::atomic<bool> is_in_handler_{false};
  std::atomic<bool> is_gone_{false};
  std::atomic<std::int64_t> num_requested_{0};
  std::atomic<std::int64_t> num_tasks_{0};
  std::atomic<std::int64_t> num_extractions_{0};
  std::atomic<int> num_cancels_{0};
  std::atomic<int> num_releases_{0};
};

}  // namespace cudf_arrow_bridge::test
