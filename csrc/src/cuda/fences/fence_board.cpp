// SPDX-License-Identifier: Apache-2.0
#include "cuda/fences/fence_board.hpp"

#include "base/nvtx.hpp"
#include "cuda/fences/stream_fence.hpp"

#include <cudf_arrow_bridge/fences.hpp>
#include <cudf_arrow_bridge/memory.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

using std::chrono::nanoseconds;

int open_descriptor()
{
  auto const descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) { throw std::system_error{errno, std::generic_category(), "eventfd"}; }
  return descriptor;
}

/// Blocks until a descriptor is readable, a signal was handled, or the timeout has passed.
void wait_until_readable(int descriptor, std::optional<nanoseconds> time)
{
  auto polled = pollfd{descriptor, POLLIN, 0};
  auto limit  = timespec{};
  if (time) {
    auto const seconds = std::chrono::floor<std::chrono::seconds>(*time);
    limit              = {seconds.count(), (*time - seconds).count()};
  }
  (void)ppoll(&polled, 1, time ? &limit : nullptr, nullptr);
}

}  // namespace

fence_board::fence_board() : descriptor_{open_descriptor()} {}

fence_board::~fence_board() { (void)close(descriptor_); }

fence_id fence_board::add()
{
  check_process();
  auto const lock   = std::lock_guard{mutex_};
  auto const needed = ended_.size() + pending_.size() + 1;
  if (needed > ended_.capacity()) { ended_.reserve(std::max(needed, 2 * ended_.capacity())); }
  pending_.insert(newest_ + 1);
  return ++newest_;
}

bool fence_board::end(fence_result const& result) noexcept
{
  if (!made_in_.is_of_this_process()) { return false; }
  auto const lock = std::lock_guard{mutex_};
  if (pending_.erase(result.fence) == 0) { return false; }
  ended_.push_back(result);
  signal();
  return true;
}

std::size_t fence_board::num_pending() const noexcept
{
  if (!made_in_.is_of_this_process()) { return 0; }
  auto const lock = std::lock_guard{mutex_};
  return pending_.size();
}

std::vector<fence_result> fence_board::poll(std::optional<nanoseconds> timeout)
{
  check_process();
  auto const start = std::chrono::steady_clock::now();
  for (;;) {
    if (auto results = take()) { return *std::move(results); }
    auto left = timeout;
    if (left) { *left -= std::chrono::steady_clock::now() - start; }
    if (left && *left <= nanoseconds::zero()) { return {}; }
    wait_until_readable(descriptor_, left);
  }
}

void fence_board::wake() noexcept
{
  if (!made_in_.is_of_this_process()) { return; }
  auto const lock = std::lock_guard{mutex_};
  signal();
}

void fence_board::check_process() const
{
  if (!made_in_.is_of_this_process()) {
    throw std::logic_error{
      "expected fences of this process, got fences of its parent: create them after the fork"};
  }
}

/// The results that `poll` can return now; empty if it has to wait.
std::optional<std::vector<fence_result>> fence_board::take()
{
  auto const lock = std::lock_guard{mutex_};
  if (!is_signalled_) { return std::nullopt; }
  // Copied, because the reserved memory is for the pending fences.
  auto results = ended_;
  ended_.clear();
  reset_signal();
  return results;
}

/// Makes the descriptor readable. Called with the lock, so that it is readable only if there are
/// results.
void fence_board::signal() noexcept
{
  if (is_signalled_) { return; }
  is_signalled_  = true;
  auto const one = std::uint64_t{1};
  (void)!write(descriptor_, &one, sizeof(one));
}

void fence_board::reset_signal() noexcept
{
  is_signalled_ = false;
  auto count    = std::uint64_t{};
  // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection): the descriptor does not block.
  (void)!read(descriptor_, &count, sizeof(count));
}

}  // namespace cudf_arrow_bridge::detail

namespace cudf_arrow_bridge {

std::string error_text(cudaError_t error)
{ return std::string{cudaGetErrorName(error)} + ": " + cudaGetErrorString(error); }

fence_set fence_set::make()
{
  auto result   = fence_set{};
  result.board_ = std::make_shared<detail::fence_board>();
  return result;
}

int fence_set::fileno() const noexcept { return board_->fileno(); }

fence_id fence_set::add(cuda::stream_ref stream)
{
  detail::nvtx_range const range{__func__};
  // Check before using CUDA: the stream may also belong to the parent.
  board_->check_process();
  if (!has_gpu()) { return add(detail::pooled_event{}, 0, nullptr); }
  return detail::stream_fence::start(std::make_unique<detail::stream_fence>(board_, stream));
}

fence_id fence_set::add(cudaEvent_t event,
                        int device,
                        std::uint64_t lane,
                        std::shared_ptr<void const> keeper)
{
  // The ids of streams are small.
  constexpr auto foreign = std::uint64_t{1} << 63;
  auto const point       = detail::pooled_event::borrow(event, device);
  if (point.query() == cudaSuccess) { return 0; }
  (void)cudaGetLastError();
  return add(point, lane | foreign, std::move(keeper));
}

fence_id fence_set::add(detail::pooled_event const& event,
                        std::uint64_t stream_id,
                        std::shared_ptr<void const> keeper)
{
  if (!event) {
    auto const fence = add();
    complete(fence);
    return fence;
  }
  return detail::stream_fence::start(
    std::make_unique<detail::stream_fence>(board_, event, stream_id, std::move(keeper)));
}

fence_id fence_set::add() { return board_->add(); }

void fence_set::complete(fence_id fence) noexcept
{ board_->end({fence, fence_state::reached, cudaSuccess}); }

bool fence_set::cancel(fence_id fence) noexcept
{ return board_->end({fence, fence_state::cancelled, cudaSuccess}); }

std::size_t fence_set::num_pending() const noexcept { return board_->num_pending(); }

std::vector<fence_result> fence_set::poll(std::optional<std::chrono::nanoseconds> timeout)
{ return board_->poll(timeout); }

void fence_set::wake() noexcept { board_->wake(); }

}  // namespace cudf_arrow_bridge
