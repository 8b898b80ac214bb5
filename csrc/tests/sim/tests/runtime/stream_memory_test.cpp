// SPDX-License-Identifier: Apache-2.0
#include "sim/tests/runtime/filled_memory.hpp"
#include "sim/world_test.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using sim::filled_size;
using sim::holds;
using sim::memory_kind;
using sim::stream;

class stream_memory : public sim::world_test {};

TEST_F(stream_memory, is_overwritten_when_the_stream_gets_there)
{
  auto const one = stream{};
  auto* first    = sim::allocate_on(one.get(), memory_kind::device, 0, filled_size);
  void* second   = nullptr;
  {
    auto const slow = sim::slow_stream{one.get()};
    sim::deallocate_on(one.get(), first);

    auto* elsewhere = sim::allocate(memory_kind::device, 0, filled_size);
    EXPECT_NE(elsewhere, first);
    sim::deallocate(elsewhere);

    second = sim::allocate_on(one.get(), memory_kind::device, 0, filled_size);
    EXPECT_EQ(second, first);
    sim::drain();
    EXPECT_TRUE(holds(second, sim::fresh_byte));
  }
  sim::drain();
  EXPECT_TRUE(holds(second, sim::freed_byte));
  sim::deallocate_on(one.get(), second);
}

TEST_F(stream_memory, is_everybodys_once_the_stream_got_there)
{
  auto const one = stream{};
  auto* first    = sim::allocate_on(one.get(), memory_kind::device, 0, filled_size);
  sim::deallocate_on(one.get(), first);
  sim::drain();
  auto const two = stream{};
  auto* second   = sim::allocate_on(two.get(), memory_kind::device, 0, filled_size);
  EXPECT_EQ(second, first);
  sim::deallocate_on(two.get(), second);
}

TEST_F(stream_memory, that_is_freed_twice_in_a_row_stays_the_streams)
{
  auto const one = stream{};
  auto const two = stream{};
  auto* first    = sim::allocate_on(one.get(), memory_kind::device, 0, filled_size);
  sim::enqueue(one.get(), [] {});
  sim::hold(one.get());
  sim::deallocate_on(one.get(), first);
  auto* second = sim::allocate_on(one.get(), memory_kind::device, 0, filled_size);
  EXPECT_EQ(second, first);
  sim::enqueue(one.get(), [=] {
    // By now the first freeing is over, but not the second.
    EXPECT_TRUE(holds(second, sim::freed_byte));
    std::memset(second, 1, filled_size);
  });
  sim::deallocate_on(one.get(), second);
  auto* third = sim::allocate_on(two.get(), memory_kind::device, 0, filled_size);
  EXPECT_NE(third, first);
  sim::release(one.get());
  sim::deallocate_on(two.get(), third);
}

/// Two streams share memory that the first one frees; does the second one read it unharmed?
bool reads_unharmed(std::uint64_t seed, bool with_wait)
{
  sim::reset(seed);
  auto const producer = stream{};
  auto const consumer = stream{};
  auto* data          = sim::allocate_on(producer.get(), memory_kind::device, 0, filled_size);
  auto seen           = std::vector<std::byte>(filled_size);
  auto passed         = cudaEvent_t{};
  EXPECT_EQ(cudaEventCreateWithFlags(&passed, cudaEventDisableTiming), cudaSuccess);

  sim::enqueue(producer.get(), [=] { std::memset(data, 1, filled_size); });
  EXPECT_EQ(cudaEventRecord(passed, producer.get()), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(consumer.get(), passed), cudaSuccess);
  sim::enqueue(consumer.get(), [&] { std::memcpy(seen.data(), data, filled_size); });
  if (with_wait) {
    EXPECT_EQ(cudaEventRecord(passed, consumer.get()), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(producer.get(), passed), cudaSuccess);
  }
  sim::deallocate_on(producer.get(), data);
  // In use again, so that reading it is wrong but no error in the eyes of a sanitizer.
  auto* again = sim::allocate_on(producer.get(), memory_kind::device, 0, filled_size);
  sim::drain();
  sim::deallocate_on(producer.get(), again);
  sim::drain();
  EXPECT_EQ(cudaEventDestroy(passed), cudaSuccess);
  return holds(seen.data(), std::byte{1});
}

TEST_F(stream_memory, read_without_a_wait_is_wrong)
{
  auto harmed = 0;
  for (auto seed = 0U; seed < 100; ++seed) {
    EXPECT_TRUE(reads_unharmed(seed, true));
    harmed += reads_unharmed(seed, false) ? 0 : 1;
  }
  EXPECT_GT(harmed, 10);
}

}  // namespace
