// SPDX-License-Identifier: Apache-2.0
/// @file
/// Writes of the owner after a borrow are ordered after the work of the borrower.
#include "sim/tests/bridge_test.hpp"

#include <cudf_arrow_bridge/fences.hpp>

#include <rmm/error.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

namespace cudf_arrow_bridge::test {
namespace {

/// An exported array of four integers, which kernels of the owner and the borrower use.
struct exported_integers {
  device_array array;
  std::int32_t* data;

  /// Enqueues a kernel that reads. @return The values, set when the kernel has run
  [[nodiscard]] std::shared_ptr<integers_t const> read_later(cudaStream_t stream) const
  {
    auto seen = std::make_shared<integers_t>();
    sim::enqueue(stream, [seen, from = data] { seen->assign(from, from + 4); });
    return seen;
  }

  /// Enqueues a kernel that writes another value to all elements.
  void overwrite_later(cudaStream_t stream) const
  {
    sim::enqueue(stream, [to = data] { std::fill_n(to, 4, -1); });
  }
};

class BorrowGuards : public bridge_test {
 protected:
  exported_integers export_integers(cudaStream_t owner, int device = 0)
  {
    auto array        = export_rows(flat("int32"), integer_rows(untouched), owner, device);
    auto const* begin = array.buffers()[1].address;
    return {std::move(array), static_cast<std::int32_t*>(const_cast<void*>(begin))};
  }

  integers_t const untouched{1, 2, 3, 4};
};

TEST_F(BorrowGuards, OwnerWritesAfterTheBorrowersReads)
{
  for_seeds(many_seeds, [&](cudaStream_t owner, cudaStream_t borrower) {
    auto const exported = export_integers(owner);
    auto const before   = sim::host_syncs_here();
    auto guard          = borrow_guard{exported.array, owner, borrower};
    auto const seen     = exported.read_later(borrower);
    guard.end();
    exported.overwrite_later(owner);
    guard.end();
    EXPECT_EQ(sim::host_syncs_here(), before);
    sim::drain();
    EXPECT_EQ(*seen, untouched);
  });
}

TEST_F(BorrowGuards, KeepTheArrayAndFreeItAfterTheBorrowersReads)
{
  for_seeds(many_seeds, [&](cudaStream_t owner, cudaStream_t borrower) {
    auto exported = export_integers(owner);
    auto guard    = std::optional<borrow_guard>{std::in_place, exported.array, owner, borrower};
    exported.array.reset();
    auto const seen = exported.read_later(borrower);
    guard.reset();
    sim::drain();
    EXPECT_EQ(*seen, untouched);
  });
}

TEST_F(BorrowGuards, UseTheDeviceOfTheArrayAndNotTheCurrentDevice)
{
  for_seeds(many_seeds, [&] {
    auto const owner = stream_on(1);
    // The default stream of device 1, independent of the current device.
    auto const borrower = cudaStreamLegacy;
    auto const exported = export_integers(owner->get(), 1);
    auto guard          = borrow_guard{exported.array, owner->get(), borrower};
    auto there          = std::optional<on_device>{rmm::cuda_device_id{1}};
    auto const seen     = exported.read_later(borrower);
    there.reset();
    guard.end();
    EXPECT_EQ(rmm::get_current_cuda_device().value(), 0);
    there.emplace(rmm::cuda_device_id{1});
    exported.overwrite_later(owner->get());
    there.reset();
    sim::drain();
    EXPECT_EQ(*seen, untouched);
  });
}

TEST_F(BorrowGuards, OnPerThreadDefaultStreamsCanEndOnAnotherThread)
{
  for_seeds(many_seeds, [&](cudaStream_t other) {
    for (auto const& [owner, borrower] :
         {std::pair{cudaStreamPerThread, other}, std::pair{other, cudaStreamPerThread}}) {
      auto const exported = export_integers(owner);
      auto guard          = borrow_guard{exported.array, owner, borrower};
      auto const seen     = exported.read_later(borrower);
      std::thread{[&] { guard.end(); }}.join();
      exported.overwrite_later(owner);
      sim::drain();
      EXPECT_EQ(*seen, untouched);
    }
  });
}

TEST_F(BorrowGuards, CanEndIfEveryCudaCallFails)
{
  auto const owner    = lasting_stream{};
  auto const borrower = lasting_stream{};
  auto const exported = export_integers(owner.get());
  {
    auto const guard = borrow_guard{exported.array, owner.get(), borrower.get()};
    sim::fail_all(cudaErrorIllegalAddress);
  }
  sim::fail_all(cudaSuccess);
}

TEST_F(BorrowGuards, FenceOfAGuardIsReachedAfterTheBorrowersWork)
{
  for_seeds(many_seeds, [&] {
    auto fences         = fence_set::make();
    auto const borrower = stream_on(1);
    auto const exported = export_integers(borrower->get(), 1);
    auto guard          = borrow_guard{exported.array, borrower->get(), borrower->get()};
    auto const seen     = [&] {
      auto const there = on_device{rmm::cuda_device_id{1}};
      return exported.read_later(borrower->get());
    }();
    auto const fence = guard.add_fence(fences);
    guard.end();
    auto const results = fences.poll(std::nullopt);
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].fence, fence);
    EXPECT_EQ(results[0].state, fence_state::reached);
    EXPECT_EQ(*seen, untouched);
    EXPECT_THROW(guard.add_fence(fences), std::invalid_argument);
  });
}

TEST_F(BorrowGuards, EndInAForkedChildWithoutCudaCalls)
{
  auto const owner    = lasting_stream{};
  auto const borrower = lasting_stream{};
  auto const exported = export_integers(owner.get());
  auto guard          = borrow_guard{exported.array, owner.get(), borrower.get()};
  auto const child    = fork();
  if (child == 0) {
    auto const calls = sim::calls("cudaEventRecord") + sim::calls("cudaSetDevice");
    guard.end();
    _exit(sim::calls("cudaEventRecord") + sim::calls("cudaSetDevice") == calls ? 0 : 1);
  }
  auto status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(BorrowGuards, ConstructorReportsReleasedArraysAndCudaErrors)
{
  auto const owner    = lasting_stream{};
  auto const borrower = lasting_stream{};
  auto const exported = export_integers(owner.get());
  auto const begin    = [&](device_array const& array) {
    (void)borrow_guard{array, owner.get(), borrower.get()};
  };
  EXPECT_THROW(begin({}), std::invalid_argument);
  sim::fail_next("cudaStreamWaitEvent", cudaErrorInvalidResourceHandle);
  EXPECT_THROW(begin(exported.array), rmm::cuda_error);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
