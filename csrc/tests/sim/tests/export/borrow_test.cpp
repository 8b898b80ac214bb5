// SPDX-License-Identifier: Apache-2.0
/// @file
/// Writes of the owner after a borrow are ordered after the work of the borrower.
#include "sim/tests/bridge_test.hpp"
#include "testing/poll_fences.hpp"

#include <cudf_arrow_bridge/fences.hpp>
#include <cudf_arrow_bridge/ordering.hpp>

#include <rmm/error.hpp>

#include <memory>
#include <optional>
#include <stdexcept>

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

class Borrows : public bridge_test {
 protected:
  exported_integers export_integers(cudaStream_t owner, int device = 0)
  {
    auto array        = export_rows(flat("int32"), integer_rows(untouched), owner, device);
    auto const* begin = array.buffers()[1].address;
    return {std::move(array), static_cast<std::int32_t*>(const_cast<void*>(begin))};
  }

  integers_t const untouched{1, 2, 3, 4};
};

TEST_F(Borrows, OwnerWritesAfterTheBorrowersReads)
{
  for_seeds(many_seeds, [&](cudaStream_t owner, cudaStream_t borrower) {
    auto const exported = export_integers(owner);
    auto const before   = sim::host_syncs_here();
    exported.array.make_wait(borrower);
    auto const seen = exported.read_later(borrower);
    order_after(owner, borrower);
    exported.overwrite_later(owner);
    EXPECT_EQ(sim::host_syncs_here(), before);
    sim::drain();
    EXPECT_EQ(*seen, untouched);
  });
}

TEST_F(Borrows, OwnerFreesTheArrayAfterTheBorrowersReads)
{
  for_seeds(many_seeds, [&](cudaStream_t owner, cudaStream_t borrower) {
    auto exported = export_integers(owner);
    exported.array.make_wait(borrower);
    auto const seen = exported.read_later(borrower);
    order_after(owner, borrower);
    exported.array.reset();
    sim::drain();
    EXPECT_EQ(*seen, untouched);
  });
}

TEST_F(Borrows, UseTheDeviceOfTheArrayAndNotTheCurrentDevice)
{
  for_seeds(many_seeds, [&] {
    auto const device = rmm::cuda_device_id{1};
    auto const owner  = stream_on(1);
    // The default stream of device 1, independent of the current device.
    auto const borrower = cudaStreamLegacy;
    auto const exported = export_integers(owner->get(), 1);
    exported.array.make_wait(borrower);
    auto there      = std::optional<on_device>{device};
    auto const seen = exported.read_later(borrower);
    there.reset();
    auto fences      = fence_set::make();
    auto const fence = fences.add(borrower, device);
    order_after(owner->get(), borrower, device);
    EXPECT_EQ(rmm::get_current_cuda_device().value(), 0);
    there.emplace(device);
    exported.overwrite_later(owner->get());
    there.reset();
    auto const results = poll_for(fences, std::chrono::milliseconds{-1});
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].fence, fence);
    EXPECT_EQ(*seen, untouched);
    sim::drain();
    EXPECT_EQ(*seen, untouched);
  });
}

TEST_F(Borrows, BeginsReportReleasedArraysAndCudaErrors)
{
  auto const stream   = lasting_stream{};
  auto const exported = export_integers(stream.get());
  EXPECT_THROW(device_array{}.make_wait(stream.get()), std::invalid_argument);
  sim::fail_next("cudaStreamWaitEvent", cudaErrorInvalidResourceHandle);
  EXPECT_THROW(exported.array.make_wait(stream.get()), rmm::cuda_error);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
