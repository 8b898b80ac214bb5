// SPDX-License-Identifier: Apache-2.0
/// @file
/// The simulation makes incorrect programs fail.
#include "sim/pool_resource.hpp"
#include "sim/world_test.hpp"

#include <cstdint>
#include <thread>

namespace {

class Runtime : public sim::world_test {
 protected:
  /// Writes and reads an integer on two streams, and frees it on the first one.
  /// @return Whether the read sees the written value
  bool reads_the_value(std::uint64_t seed, bool waits_for_writer, bool waits_for_reader)
  {
    sim::reset(seed);
    auto const writer = sim::stream{};
    auto const reader = sim::stream{};
    auto* data        = static_cast<int*>(pool_.allocate(writer.get(), sizeof(int)));
    auto seen         = 0;
    sim::enqueue(writer.get(), [=] { *data = 7; });
    if (waits_for_writer) { order(reader.get(), writer.get()); }
    sim::enqueue(reader.get(), [&] { seen = *data; });
    if (waits_for_reader) { order(writer.get(), reader.get()); }
    pool_.deallocate(writer.get(), data, sizeof(int));
    // Allocate the memory again, so that AddressSanitizer does not report the wrong reads.
    auto* again = pool_.allocate(writer.get(), sizeof(int));
    sim::drain();
    pool_.deallocate(writer.get(), again, sizeof(int));
    sim::drain();
    return seen == 7;
  }

  static void order(cudaStream_t later, cudaStream_t earlier)
  {
    auto event = cudaEvent_t{};
    EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, earlier), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(later, event), cudaSuccess);
    EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  }

  sim::pool_resource pool_{};
};

TEST_F(Runtime, ReadsAreCorrectOnlyBetweenTheWriteAndTheDeallocation)
{
  auto too_early = 0;
  auto too_late  = 0;
  for (auto seed = 0U; seed < 100; ++seed) {
    EXPECT_TRUE(reads_the_value(seed, true, true));
    too_early += reads_the_value(seed, false, true) ? 0 : 1;
    too_late += reads_the_value(seed, true, false) ? 0 : 1;
  }
  EXPECT_GT(too_early, 10);
  EXPECT_GT(too_late, 10);
}

TEST_F(Runtime, FreedMemoryIsOverwrittenImmediately)
{
  auto const* data = sim::allocate(sim::memory_kind::device, 0, 1);
  sim::deallocate(const_cast<void*>(data));
  auto* again = sim::allocate(sim::memory_kind::device, 0, 1);
  ASSERT_EQ(again, data);
  EXPECT_EQ(*static_cast<std::byte*>(again), sim::freed_byte);
  sim::deallocate(again);
}

TEST_F(Runtime, LeftoversAndInvalidUsesAreReported)
{
  auto* memory = sim::allocate(sim::memory_kind::device, 1, 100);
  EXPECT_EQ(sim::leftovers(), "memory of 100 bytes on device 1\n");
  sim::deallocate(memory);
  sim::deallocate(memory);
  sim::enqueue(cudaStream_t{}, [] { (void)cudaFree(nullptr); });
  sim::drain();
  EXPECT_EQ(sim::take_violations().size(), 2U);
}

TEST_F(Runtime, WaitsOfOtherThreadsInvalidateCapturesUnlessTheseAreRelaxed)
{
  auto const captured = sim::stream{};
  auto const other    = sim::stream{};
  auto const is_valid = [&](cudaStreamCaptureMode mode) {
    auto capture = sim::stream_capture{captured.get()};
    std::thread{[&] {
      EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
      (void)cudaStreamSynchronize(other.get());
    }}.join();
    return capture.end().has_value();
  };
  EXPECT_FALSE(is_valid(cudaStreamCaptureModeGlobal));
  EXPECT_TRUE(is_valid(cudaStreamCaptureModeRelaxed));
}

}  // namespace
