// SPDX-License-Identifier: Apache-2.0
#include "cuda/ordering/events.hpp"
#include "sim/pool_resource.hpp"
#include "sim/world_test.hpp"

#include <cudf_arrow_bridge/ordering.hpp>

#include <rmm/error.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace cudf_arrow_bridge::test {
namespace {

using sim::enqueue;

class ordering : public sim::world_test {
 protected:
  auto note(char name)
  {
    return [this, name] { order_ += name; };
  }

  /// @return An owner that frees an integer of the pool on `stream`
  std::shared_ptr<std::int32_t const> on_stream(cudaStream_t stream, std::int32_t value)
  {
    auto* memory = static_cast<std::int32_t*>(pool_.allocate(stream, sizeof value));
    enqueue(stream, [=] { *memory = value; });
    return {memory, [this, stream](std::int32_t const* freed) {
              pool_.deallocate(stream, const_cast<std::int32_t*>(freed), sizeof value);
            }};
  }

  /// Enqueues a kernel that reads an integer. @return The value, set when the kernel has run
  static std::shared_ptr<std::int32_t const> read_later(std::int32_t const& value,
                                                        cudaStream_t stream)
  {
    auto seen = std::make_shared<std::int32_t>(0);
    enqueue(stream, [seen, &value] { *seen = value; });
    return seen;
  }

  std::string order_;
  sim::pool_resource pool_{};
};

TEST_F(ordering, order_after_makes_one_stream_wait_for_another)
{
  for (auto seed = 0U; seed < 100; ++seed) {
    sim::reset(seed);
    order_.clear();
    auto const before  = sim::host_syncs_here();
    auto const earlier = sim::stream{};
    auto const later   = sim::stream{};
    enqueue(earlier.get(), note('a'));
    order_after(later.get(), earlier.get());
    enqueue(later.get(), note('b'));
    EXPECT_EQ(sim::host_syncs_here(), before);
    sim::drain();
    EXPECT_EQ(order_, "ab");
  }
  EXPECT_EQ(detail::events_in_use(), 0U);
}

TEST_F(ordering, order_after_reports_cuda_errors)
{
  auto const stream = sim::stream{};
  for (auto const* function : {"cudaEventRecord", "cudaStreamWaitEvent"}) {
    sim::fail_next(function, cudaErrorInvalidResourceHandle);
    EXPECT_THROW(order_after(cudaStream_t{}, stream.get()), rmm::cuda_error) << function;
  }
  EXPECT_EQ(detail::events_in_use(), 0U);
}

TEST_F(ordering, release_after_frees_memory_after_the_reader)
{
  for (auto seed = 0U; seed < 100; ++seed) {
    sim::reset(seed);
    auto const freed  = sim::stream{};
    auto const reader = sim::stream{};
    auto memory       = on_stream(freed.get(), 7);
    order_after(reader.get(), freed.get());
    auto const seen   = read_later(*memory, reader.get());
    auto const before = sim::host_syncs_here();
    auto owner        = release_after(std::move(memory), freed.get(), reader.get());
    owner.reset();
    EXPECT_EQ(sim::host_syncs_here(), before);
    sim::drain();
    EXPECT_EQ(*seen, 7);
  }
  EXPECT_EQ(detail::events_in_use(), 0U);
}

TEST_F(ordering, another_thread_frees_after_the_reader_on_a_per_thread_default_stream)
{
  for (auto seed = 0U; seed < 100; ++seed) {
    sim::reset(seed);
    auto const other = sim::stream{};
    // On each of the two threads, `cudaStreamPerThread` is another stream.
    for (auto const freed : {other.get(), cudaStreamPerThread}) {
      auto memory = on_stream(freed, 7);
      order_after(cudaStreamPerThread, freed);
      auto const seen = read_later(*memory, cudaStreamPerThread);
      auto owner      = release_after(std::move(memory), freed, cudaStreamPerThread);
      std::thread{[&] { owner.reset(); }}.join();
      sim::drain();
      EXPECT_EQ(*seen, 7);
    }
  }
}

TEST_F(ordering, reader_on_the_legacy_stream_includes_per_thread_default_streams)
{
  for (auto seed = 0U; seed < 100; ++seed) {
    sim::reset(seed);
    auto memory      = on_stream(cudaStreamPerThread, 7);
    auto const& read = *memory;
    auto owner       = std::shared_ptr<void const>{};
    std::thread{[&] {
      owner = release_after(std::move(memory), cudaStreamPerThread, cudaStreamLegacy);
    }}.join();
    auto const seen = read_later(read, cudaStreamPerThread);
    std::thread{[&] { owner.reset(); }}.join();
    sim::drain();
    EXPECT_EQ(*seen, 7);
  }
}

TEST_F(ordering, release_after_with_one_stream_returns_the_owner_unchanged)
{
  auto const stream = sim::stream{};
  auto const owner  = std::make_shared<int>(1);
  for (auto const one : {stream.get(), cudaStream_t{}, cudaStreamLegacy}) {
    EXPECT_EQ(release_after(owner, one, one), owner);
  }
  EXPECT_EQ(detail::events_in_use(), 0U);
}

TEST_F(ordering, memory_freed_on_another_current_device_is_freed_after_the_reader)
{
  for (auto seed = 0U; seed < 100; ++seed) {
    sim::reset(seed);
    auto const freed  = sim::stream{};
    auto const reader = cudaStreamLegacy;
    auto memory       = on_stream(freed.get(), 7);
    order_after(reader, freed.get());
    auto const seen = read_later(*memory, reader);
    auto owner      = release_after(std::move(memory), freed.get(), reader);
    std::thread{[&] {
      ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
      owner.reset();
      auto device = -1;
      EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
      EXPECT_EQ(device, 1);
    }}.join();
    sim::drain();
    EXPECT_EQ(*seen, 7);
  }
}

TEST_F(ordering, host_waits_for_the_reader_if_the_event_fails)
{
  for (auto const* function : {"cudaEventRecord", "cudaStreamWaitEvent"}) {
    for (auto seed = 0U; seed < 100; ++seed) {
      sim::reset(seed);
      auto const freed  = sim::stream{};
      auto const reader = sim::stream{};
      auto memory       = on_stream(freed.get(), 7);
      order_after(reader.get(), freed.get());
      auto const seen = read_later(*memory, reader.get());
      auto owner      = release_after(std::move(memory), freed.get(), reader.get());
      sim::fail_next(function, cudaErrorInvalidValue);
      owner.reset();
      EXPECT_EQ(*seen, 7) << function;
    }
  }
}

TEST_F(ordering, owner_is_released_if_the_event_fails)
{
  auto const stream = sim::stream{};
  auto owner        = std::make_shared<int>(1);
  auto const gone   = std::weak_ptr<int>{owner};
  auto ordered      = release_after(std::move(owner), stream.get(), cudaStream_t{});
  EXPECT_FALSE(gone.expired());
  sim::fail_next("cudaEventRecord", cudaErrorIllegalAddress);
  ordered.reset();
  EXPECT_TRUE(gone.expired());
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
