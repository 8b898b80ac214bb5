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

TEST_F(stream_memory, is_overwritten_when_the_stream_reaches_the_deallocation)
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

TEST_F(stream_memory, is_reused_on_other_streams_after_the_deallocation_has_run)
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

TEST_F(stream_memory, reused_block_stays_with_its_stream_until_the_last_deallocation)
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
    // The first deallocation has run, but not the second.
    EXPECT_TRUE(holds(second, sim::freed_byte));
    std::memset(second, 1, filled_size);
  });
  sim::deallocate_on(one.get(), second);
  auto* third = sim::allocate_on(two.get(), memory_kind::device, 0, filled_size);
  EXPECT_NE(third, first);
  sim::release(one.get());
  sim::deallocate_on(two.get(), third);
}

/// Frees memory on one stream while another stream reads it. @return Whether the reads are right
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
  // Allocate the memory again, so that AddressSanitizer does not report the wrong reads.
  auto* again = sim::allocate_on(producer.get(), memory_kind::device, 0, filled_size);
  sim::drain();
  sim::deallocate_on(producer.get(), again);
  sim::drain();
  EXPECT_EQ(cudaEventDestroy(passed), cudaSuccess);
  return holds(seen.data(), std::byte{1});
}

TEST_F(stream_memory, reads_are_correct_only_if_the_deallocation_waits_for_the_reader)
{
  auto harmed = 0;
  for (auto seed = 0U; seed < 100; ++seed) {
    EXPECT_TRUE(reads_unharmed(seed, true));
    harmed += reads_unharmed(seed, false) ? 0 : 1;
  }
  EXPECT_GT(harmed, 10);
}

}  // namespace
