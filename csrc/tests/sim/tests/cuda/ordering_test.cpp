// SPDX-License-Identifier: Apache-2.0
#include "cuda/ordering/events.hpp"
#include "sim/tests/bridge_test.hpp"

#include <cudf_arrow_bridge/ordering.hpp>

#include <rmm/error.hpp>

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace cudf_arrow_bridge::test {
namespace {

using namespace std::chrono_literals;

class Ordering : public bridge_test {
 protected:
  /// @return An owner that frees an integer of the pool on `stream`
  std::shared_ptr<std::int32_t const> on_stream(cudaStream_t stream, std::int32_t value)
  {
    auto* memory = static_cast<std::int32_t*>(pool_.allocate(stream, sizeof value));
    sim::enqueue(stream, [=] { *memory = value; });
    return {memory, [this, stream](std::int32_t const* freed) {
              pool_.deallocate(stream, const_cast<std::int32_t*>(freed), sizeof value);
            }};
  }

  /// Enqueues a kernel that reads an integer. @return The value, set when the kernel has run
  static std::shared_ptr<std::int32_t const> read_later(std::int32_t const& value,
                                                        cudaStream_t stream)
  {
    auto seen = std::make_shared<std::int32_t>(0);
    sim::enqueue(stream, [seen, &value] { *seen = value; });
    return seen;
  }
};

TEST_F(Ordering, OrderAfterMakesOneStreamWaitForAnother)
{
  for_seeds(many_seeds, [](cudaStream_t earlier, cudaStream_t later) {
    auto order        = std::string{};
    auto const before = sim::host_syncs_here();
    sim::enqueue(earlier, [&] { order += 'a'; });
    order_after(later, earlier);
    sim::enqueue(later, [&] { order += 'b'; });
    EXPECT_EQ(sim::host_syncs_here(), before);
    sim::drain();
    EXPECT_EQ(order, "ab");
  });
}

TEST_F(Ordering, OrderAfterReportsCudaErrors)
{
  auto const stream = lasting_stream{};
  for (auto const* function : {"cudaEventRecord", "cudaStreamWaitEvent"}) {
    sim::fail_next(function, cudaErrorInvalidResourceHandle);
    EXPECT_THROW(order_after(cudaStream_t{}, stream.get()), rmm::cuda_error) << function;
  }
}

TEST_F(Ordering, ReleaseAfterFreesMemoryAfterTheReader)
{
  for_seeds(many_seeds, [&](cudaStream_t freed, cudaStream_t reader) {
    auto memory = on_stream(freed, 7);
    order_after(reader, freed);
    auto const seen   = read_later(*memory, reader);
    auto const before = sim::host_syncs_here();
    auto owner        = release_after(std::move(memory), freed, reader);
    owner.reset();
    EXPECT_EQ(sim::host_syncs_here(), before);
    sim::drain();
    EXPECT_EQ(*seen, 7);
  });
}

TEST_F(Ordering, AnotherThreadFreesAfterTheReaderOnAPerThreadDefaultStream)
{
  for_seeds(many_seeds, [&](cudaStream_t other) {
    // On each of the two threads, `cudaStreamPerThread` is another stream.
    for (auto const freed : {other, cudaStreamPerThread}) {
      auto memory = on_stream(freed, 7);
      order_after(cudaStreamPerThread, freed);
      auto const seen = read_later(*memory, cudaStreamPerThread);
      auto owner      = release_after(std::move(memory), freed, cudaStreamPerThread);
      std::thread{[&] { owner.reset(); }}.join();
      sim::drain();
      EXPECT_EQ(*seen, 7);
    }
  });
}

TEST_F(Ordering, ReaderOnTheLegacyStreamIncludesPerThreadDefaultStreams)
{
  for_seeds(many_seeds, [&] {
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
  });
}

TEST_F(Ordering, ReleaseAfterWithOneStreamReturnsTheOwnerUnchanged)
{
  auto const stream = lasting_stream{};
  auto const owner  = std::make_shared<int>(1);
  for (auto const one : {stream.get(), cudaStream_t{}, cudaStreamLegacy}) {
    EXPECT_EQ(release_after(owner, one, one), owner);
  }
}

TEST_F(Ordering, MemoryFreedOnAnotherCurrentDeviceIsFreedAfterTheReader)
{
  for_seeds(many_seeds, [&](cudaStream_t freed) {
    auto const reader = cudaStreamLegacy;
    auto memory       = on_stream(freed, 7);
    order_after(reader, freed);
    auto const seen = read_later(*memory, reader);
    auto owner      = release_after(std::move(memory), freed, reader);
    auto const far  = on_device{rmm::cuda_device_id{1}};
    owner.reset();
    EXPECT_EQ(rmm::get_current_cuda_device().value(), 1);
    sim::drain();
    EXPECT_EQ(*seen, 7);
  });
}

TEST_F(Ordering, HostWaitsForTheReaderIfTheEventFails)
{
  for (auto const* function : {"cudaEventRecord", "cudaStreamWaitEvent"}) {
    for_seeds(many_seeds, [&](cudaStream_t freed, cudaStream_t reader) {
      auto memory        = on_stream(freed, 7);
      auto const watched = std::weak_ptr{memory};
      order_after(reader, freed);
      auto const seen = read_later(*memory, reader);
      auto owner      = release_after(std::move(memory), freed, reader);
      EXPECT_FALSE(watched.expired());
      sim::fail_next(function, cudaErrorInvalidValue);
      owner.reset();
      EXPECT_TRUE(watched.expired());
      EXPECT_EQ(*seen, 7) << function;
      EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    });
  }
}

TEST_F(Ordering, EventsCanBeReusedWhileAnotherThreadCreatesOne)
{
  auto idle        = std::optional{detail::pooled_event::acquire()};
  auto const none  = empty_pool{};
  auto const reuse = [&] {
    idle.reset();
    idle = detail::pooled_event::acquire();
  };
  auto reused = std::future<void>{};
  auto seen   = std::future_status::deferred;
  sim::delay_next("cudaEventCreateWithFlags", [&] {
    reused = std::async(std::launch::async, reuse);
    seen   = reused.wait_for(2s);
  });
  auto const created = detail::pooled_event::acquire();
  EXPECT_EQ(seen, std::future_status::ready);
  reused.get();
  EXPECT_NE(*created.handle(), *idle->handle());
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
