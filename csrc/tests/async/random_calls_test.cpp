// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the reader with producers that make calls in random order, also twice and from other
/// threads, while the consumer reads, cancels or is destroyed.
///
/// Two rules are kept, because the behavior without them is undefined: calls of the handler do not
/// overlap, and none follows its release, which frees it.
#include "async/reading.hpp"
#include "async/stand_in_producer.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>

namespace cudf_arrow_bridge::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr auto num_streams = 1'000;
#else
constexpr auto num_streams = 3'000;
#endif

/// One stream from a seed.
class random_stream {
 public:
  explicit random_stream(unsigned seed) : random_{seed} {}

  void go()
  {
    auto reader   = std::make_unique<async_stream_reader>(1 + pick(3), [] {});
    auto producer = stand_in_producer{reader->take_handler()};
    auto consumer = std::thread{[&reader, num_reads = pick(8), how = pick(3)] {
      for (auto i = 0; i < num_reads; ++i) {
        (void)read_ready(*reader);
        std::this_thread::yield();
      }
      if (how == 1) { reader->cancel(); }
      if (how == 2) { reader.reset(); }
    }};
    if (pick(5) > 0) { producer.open(); }
    for (auto left = pick(12); left > 0; --left) {
      auto const which = pick(8);
      if (pick(3) == 0) {
        std::thread{[&] { call(producer, which); }}.join();
      } else {
        call(producer, which);
      }
    }
    producer.release();
    consumer.join();
    EXPECT_LE(producer.num_cancels(), 1);
    if (reader) {
      auto const last = read_all(*reader).back();
      EXPECT_TRUE(last == "end" || last.starts_with("error ")) << last;
    }
  }

 private:
  int pick(int bound) { return std::uniform_int_distribution{0, bound - 1}(random_); }

  static void call(stand_in_producer& producer, int which)
  {
    auto* const handler = producer.handler;
    auto without        = ArrowAsyncTask{};
    switch (which) {
      case 0: (void)producer.open(); break;
      case 1: (void)handler->on_schema(handler, nullptr); break;
      case 2: (void)handler->on_next_task(handler, &without, nullptr); break;
      case 3: (void)producer.give({.code = EIO, .has_array = false}); break;
      case 4: (void)producer.give({.has_array = false}); break;
      case 5: (void)producer.end(); break;
      case 6: producer.fail(EIO, "the disk is gone"); break;
      default: (void)producer.give();
    }
  }

  std::mt19937 random_;
};

TEST(RandomCalls, EndTheStreamAndReleaseAllArrays)
{
  // ASYNC_SEED repeats a failed run.
  auto const* const chosen = std::getenv("ASYNC_SEED");
  auto const first         = chosen != nullptr ? static_cast<unsigned>(std::atoi(chosen)) : 0U;
  auto const last          = chosen != nullptr ? first + 1 : num_streams;
  for (auto seed = first; seed < last && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("ASYNC_SEED=" + std::to_string(seed));
    random_stream{seed}.go();
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
