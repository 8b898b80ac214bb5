// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of a writer and a reader with random interleavings of their calls, also within each
/// other's calls.
#include "async/checking_link.hpp"
#include "async/counted_arrays.hpp"
#include "async/stream_writer.hpp"
#include "testing/arrow_schema.hpp"

#include <cudf_arrow_bridge/async.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>

namespace cudf_arrow_bridge::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr auto num_interleavings = 5'000;
#else
constexpr auto num_interleavings = 100'000;
#endif

/// How the producer ends.
enum class ending { none, finished, failed };

/// One random stream from a seed, on one thread.
class run {
 public:
  explicit run(unsigned seed) : random_{seed}, prefetch_{1 + pick(4)}, reentrancy_{pick(4)}
  {
    reader_.emplace(prefetch_, [this, token = token_] { reenter(); });
    link_.emplace(reader_->take_handler(), prefetch_, [this] { reenter(); });
    writer_ = std::make_shared<detail::stream_writer>(link_->handler(),
                                                      [this, token = token_] { reenter(); });
  }

  /// Run random steps, destroy both sides, then check that nothing is left.
  void go()
  {
    for (auto step = 0; step < 10 + pick(40); ++step) {
      if (pick(3) == 0) {
        produce();
      } else {
        consume();
      }
    }
    wind_up();
    EXPECT_EQ(token_.use_count(), 1) << "a callback is kept";
    EXPECT_TRUE(link_->is_released());
    link_.reset();
  }

 private:
  std::int64_t pick(std::int64_t bound)
  { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(bound)); }

  bool chance(int percent) { return pick(100) < percent; }

  /// Run one step of the producer.
  void produce()
  {
    if (!writer_ || is_producing_) { return; }
    is_producing_ = true;
    if (!is_open_) {
      if (chance(5)) { return end(); }
      is_open_ = true;
      writer_->open(make_schema(flat("int32")), ARROW_DEVICE_CPU);
    } else if (writer_->num_wanted() > 0 && !chance(8)) {
      EXPECT_EQ(ended_, ending::none);
      (void)writer_->write(arrays_.make());
    } else if (writer_->is_over() || chance(8)) {
      return end();
    } else if (writer_->num_wanted() == 0 && chance(30)) {
      if (!writer_->is_over()) {
        EXPECT_THROW((void)writer_->write(arrays_.make()), std::logic_error);
      }
    }
    EXPECT_LE(num_waiting(), prefetch_);
    is_producing_ = false;
  }

  void end()
  {
    auto const finishes = is_open_ && pick(2) == 0;
    if (ended_ == ending::none && !writer_->is_over()) {
      ended_ = finishes ? ending::finished : ending::failed;
    }
    if (finishes) { writer_->finish(); }
    if (!finishes) { writer_->fail(ENOSPC, "the disk is full"); }
    is_producing_ = false;
  }

  /// Run one step of the consumer, also within a call.
  void consume()
  {
    if (!reader_ || is_dropping_) { return; }
    if (is_consuming_) {
      // Only one thread at a time may call `next`, but any thread may cancel.
      if (chance(10)) { cancel(); }
      return;
    }
    is_consuming_ = true;
    if (chance(3)) {
      cancel();
    } else if (chance(2)) {
      is_dropping_ = is_cancelled_ = true;
      reader_.reset();
    } else {
      read();
    }
    is_consuming_ = false;
  }

  void cancel()
  {
    is_cancelled_ = true;
    reader_->cancel();
  }

  void read()
  {
    auto const is_ready = reader_->is_ready();
    try {
      auto const batch = reader_->next();
      EXPECT_TRUE(!is_ready || batch.has_value());
      if (!batch) { return; }
      if (batch->is_end()) {
        EXPECT_TRUE(is_cancelled_ || ended_ == ending::finished);
        if (!is_cancelled_) { EXPECT_EQ(num_read_, link_->num_tasks()) << "lost arrays"; }
        has_ended_ = true;
      } else {
        // Arrays that the writer rejected have numbers, too.
        EXPECT_GT(batch->array->array.length, last_read_) << "out of order";
        EXPECT_FALSE(has_ended_) << "an array after the end";
        last_read_ = batch->array->array.length;
        ++num_read_;
      }
    } catch (async_stream_error const& error) {
      EXPECT_FALSE(is_cancelled_);
      EXPECT_EQ(error.code(), ENOSPC);
      EXPECT_EQ(ended_, ending::failed);
      EXPECT_EQ(num_read_, link_->num_tasks()) << "lost arrays";
      has_ended_ = true;
    }
  }

  [[nodiscard]] std::int64_t num_waiting() const
  {
    return is_cancelled_ || has_ended_ ? 0
                                       : link_->num_tasks() - num_read_ - (is_consuming_ ? 1 : 0);
  }

  /// Run a random step of the consumer within a call.
  void reenter()
  {
    if (depth_ > 2 || pick(4) >= reentrancy_) { return; }
    ++depth_;
    consume();
    --depth_;
  }

  /// End the stream. A reader that was not destroyed must then reach the end.
  void wind_up()
  {
    if (writer_) {
      is_producing_ = true;
      end();
    }
    is_producing_ = true;
    writer_.reset();
    if (reader_ && chance(80)) {
      reader_->wait();
      is_consuming_ = true;
      for (auto i = 0; i < 10 && !has_ended_; ++i) { read(); }
      EXPECT_TRUE(has_ended_);
    }
    is_dropping_ = true;
    reader_.reset();
  }

  std::mt19937 random_;
  std::shared_ptr<int> token_{std::make_shared<int>(0)};
  counted_arrays arrays_{100};
  std::int64_t prefetch_;
  std::int64_t reentrancy_;  ///< a call is reentered in this many of 4 cases
  std::optional<checking_link> link_;
  std::optional<async_stream_reader> reader_;
  std::shared_ptr<detail::stream_writer> writer_;
  ending ended_{ending::none};
  bool is_open_{false};
  bool is_producing_{false};
  bool is_consuming_{false};
  bool is_dropping_{false};
  bool is_cancelled_{false};
  bool has_ended_{false};
  int depth_{0};
  std::int64_t num_read_{0};
  std::int64_t last_read_{-1};
};

TEST(Interleavings, FollowTheProtocol)
{
  // ASYNC_SEED repeats a failed run.
  auto const* const chosen = std::getenv("ASYNC_SEED");
  auto const first         = chosen != nullptr ? static_cast<unsigned>(std::atoi(chosen)) : 0U;
  auto const last          = chosen != nullptr ? first + 1 : num_interleavings;
  for (auto seed = first; seed < last && !HasFailure(); ++seed) {
    SCOPED_TRACE("ASYNC_SEED=" + std::to_string(seed));
    run{seed}.go();
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
