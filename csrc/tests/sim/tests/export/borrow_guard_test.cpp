// SPDX-License-Identifier: Apache-2.0
/// @file
/// Writes of the owner after a borrow are ordered after the work of the borrower.
#include "sim/tests/bridge_test.hpp"

#include <cudf_arrow_bridge/fences.hpp>
#include <cudf_arrow_bridge/ordering.hpp>

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

class borrow_guards : public bridge_test {
 protected:
  exported_integers export_integers(cudaStream_t owner)
  { return export_integers(integer_column(owner, untouched), owner); }

  exported_integers export_integers(std::unique_ptr<cudf::column> column, cudaStream_t owner)
  {
    auto array        = to_arrow(std::move(column), owner);
    auto const* begin = array.buffers()[1].address;
    return {std::move(array), static_cast<std::int32_t*>(const_cast<void*>(begin))};
  }

  integers_t const untouched{1, 2, 3, 4};
};

TEST_F(borrow_guards, owner_writes_after_the_borrowers_reads)
{
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const owner    = lasting_stream{};
    auto const borrower = lasting_stream{};
    auto const exported = export_integers(owner.get());
    auto const before   = sim::host_syncs_here();
    auto guard          = borrow_guard{exported.array, owner.get(), borrower.get()};
    auto const seen     = exported.read_later(borrower.get());
    guard.end();
    exported.overwrite_later(owner.get());
    guard.end();
    EXPECT_EQ(sim::host_syncs_here(), before);
    sim::drain();
    EXPECT_EQ(*seen, untouched);
  }
}

TEST_F(borrow_guards, reads_without_a_guard_can_see_later_writes)
{
  auto num_wrong = 0;
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const owner    = lasting_stream{};
    auto const borrower = lasting_stream{};
    auto const exported = export_integers(owner.get());
    exported.array.make_wait(borrower.get());
    auto const seen = exported.read_later(borrower.get());
    exported.overwrite_later(owner.get());
    sim::drain();
    num_wrong += *seen == untouched ? 0 : 1;
  }
  EXPECT_GT(num_wrong, 0);
}

TEST_F(borrow_guards, owner_reads_the_writes_of_the_borrower)
{
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const owner    = lasting_stream{};
    auto const borrower = lasting_stream{};
    auto const exported = export_integers(owner.get());
    {
      auto const guard = borrow_guard{exported.array, owner.get(), borrower.get()};
      exported.overwrite_later(borrower.get());
    }
    auto const seen = exported.read_later(owner.get());
    sim::drain();
    EXPECT_EQ(*seen, integers_t(4, -1));
  }
}

TEST_F(borrow_guards, owner_writes_after_the_reads_of_two_guards)
{
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const owner    = lasting_stream{};
    auto const one      = lasting_stream{};
    auto const other    = lasting_stream{};
    auto const exported = export_integers(owner.get());
    auto first          = borrow_guard{exported.array, owner.get(), one.get()};
    auto second         = borrow_guard{exported.array, owner.get(), other.get()};
    auto const seen = std::vector{exported.read_later(one.get()), exported.read_later(other.get())};
    first.end();
    auto const again = exported.read_later(other.get());
    second.end();
    exported.overwrite_later(owner.get());
    sim::drain();
    EXPECT_EQ(*seen[0], untouched);
    EXPECT_EQ(*seen[1], untouched);
    EXPECT_EQ(*again, untouched);
  }
}

TEST_F(borrow_guards, memory_of_a_third_stream_is_freed_after_the_borrowers_reads)
{
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const made     = lasting_stream{};
    auto const owner    = lasting_stream{};
    auto const borrower = lasting_stream{};
    auto column         = std::shared_ptr<cudf::column>{integer_column(made.get(), untouched)};
    auto const view     = column->view();
    order_after(owner.get(), made.get());
    auto released = release_after(std::move(column), made.get(), owner.get());
    auto array    = to_arrow_device(view, std::move(released), {}, owner.get(), pool_);
    auto slow     = std::optional<sim::slow_stream>{borrower.get()};
    auto guard    = borrow_guard{array, owner.get(), borrower.get()};
    auto seen     = integers_t{};
    sim::enqueue(borrower.get(),
                 [&seen, data = view.data<std::int32_t>()] { seen.assign(data, data + 4); });
    guard.end();
    array           = {};
    auto const next = integer_column(made.get(), {-1, -1, -1, -1});
    slow.reset();
    settle();
    EXPECT_EQ(seen, untouched);
  }
}

TEST_F(borrow_guards, keep_the_array_and_free_it_after_the_borrowers_reads)
{
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const owner    = lasting_stream{};
    auto const borrower = lasting_stream{};
    auto column         = integer_column(owner.get(), untouched);
    auto const* data    = column->view().data<std::int32_t>();
    auto array          = to_arrow(std::move(column), owner.get());
    auto seen           = integers_t{};
    {
      auto const guard = borrow_guard{array, owner.get(), borrower.get()};
      array.reset();
      sim::enqueue(borrower.get(), [&seen, data] { seen.assign(data, data + 4); });
    }
    sim::drain();
    EXPECT_EQ(seen, untouched);
  }
}

TEST_F(borrow_guards, use_the_device_of_the_array_and_not_the_current_device)
{
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const owner = stream_on(1);
    // The default stream of device 1, independent of the current device.
    auto const borrower = cudaStreamLegacy;
    auto there          = std::optional<on_device>{rmm::cuda_device_id{1}};
    auto host           = make_column(flat("int32"), integer_rows(untouched));
    auto const exported =
      export_integers(upload_column(std::move(host), owner->get(), far_pool_), owner->get());
    there.reset();
    auto guard = borrow_guard{exported.array, owner->get(), borrower};
    there.emplace(rmm::cuda_device_id{1});
    auto const seen = exported.read_later(borrower);
    there.reset();
    guard.end();
    EXPECT_EQ(rmm::get_current_cuda_device().value(), 0);
    there.emplace(rmm::cuda_device_id{1});
    exported.overwrite_later(owner->get());
    there.reset();
    sim::drain();
    EXPECT_EQ(*seen, untouched);
  }
}

TEST_F(borrow_guards, on_per_thread_default_streams_can_end_on_another_thread)
{
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const other = lasting_stream{};
    for (auto const& [owner, borrower] : {std::pair{cudaStreamPerThread, other.get()},
                                          std::pair{other.get(), cudaStreamPerThread}}) {
      auto const exported = export_integers(owner);
      auto guard          = borrow_guard{exported.array, owner, borrower};
      auto const seen     = exported.read_later(borrower);
      std::thread{[&] { guard.end(); }}.join();
      exported.overwrite_later(owner);
      sim::drain();
      EXPECT_EQ(*seen, untouched);
    }
  }
}

TEST_F(borrow_guards, host_waits_for_the_borrower_if_the_event_fails)
{
  for (auto const* function : {"cudaEventRecord", "cudaStreamWaitEvent"}) {
    for (auto seed = 0U; seed < many_seeds; ++seed) {
      sim::reset(seed);
      auto const owner    = lasting_stream{};
      auto const borrower = lasting_stream{};
      auto const exported = export_integers(owner.get());
      auto guard          = borrow_guard{exported.array, owner.get(), borrower.get()};
      auto const seen     = exported.read_later(borrower.get());
      sim::fail_next(function, cudaErrorInvalidValue);
      guard.end();
      EXPECT_EQ(*seen, untouched) << function;
      EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    }
  }
}

TEST_F(borrow_guards, can_end_if_every_cuda_call_fails)
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

TEST_F(borrow_guards, fence_of_a_guard_is_reached_after_the_borrowers_work)
{
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto fences         = fence_set::make();
    auto const owner    = lasting_stream{};
    auto const borrower = stream_on(1);
    auto there          = std::optional<on_device>{rmm::cuda_device_id{1}};
    auto host           = make_column(flat("int32"), integer_rows(untouched));
    auto const exported =
      export_integers(upload_column(std::move(host), borrower->get(), far_pool_), borrower->get());
    auto guard      = borrow_guard{exported.array, borrower->get(), borrower->get()};
    auto const seen = exported.read_later(borrower->get());
    there.reset();
    auto const fence = guard.add_fence(fences);
    guard.end();
    auto const results = fences.poll(std::nullopt);
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].fence, fence);
    EXPECT_EQ(results[0].state, fence_state::reached);
    EXPECT_EQ(*seen, untouched);
    EXPECT_THROW(guard.add_fence(fences), std::invalid_argument);
  }
}

TEST_F(borrow_guards, end_in_a_forked_child_without_cuda_calls)
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

TEST_F(borrow_guards, constructor_reports_released_arrays_and_cuda_errors)
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
