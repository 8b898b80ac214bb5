// SPDX-License-Identifier: Apache-2.0
#include "base/nvtx.hpp"
#include "cuda/location/location.hpp"
#include "cuda/ordering/process.hpp"
#include "cuda/release/deferred_release.hpp"

#include <cudf_arrow_bridge/fences.hpp>
#include <cudf_arrow_bridge/memory.hpp>

#include <rmm/detail/error.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <unordered_set>
#include <utility>

namespace cudf_arrow_bridge::detail {

/**
 * @brief The shared state of the handles of a `fence_set`: pending fences and results.
 *
 * The first of completion and cancellation ends a fence, and its result is reported once. Ending a
 * fence does not allocate.
 */
class fence_board {
 public:
  fence_board()                              = default;
  fence_board(fence_board const&)            = delete;
  fence_board& operator=(fence_board const&) = delete;
  ~fence_board() { (void)close(descriptor_); }

  [[nodiscard]] int fileno() const noexcept { return descriptor_; }

  /// @throws std::logic_error in a forked child, which does not have these fences
  void check_process() const
  {
    if (!creator_process_.is_of_this_process()) {
      throw std::logic_error{
        "the fences belong to the parent of this process: create them after the fork"};
    }
  }

  [[nodiscard]] fence_id add()
  {
    check_process();
    auto const lock   = std::lock_guard{mutex_};
    auto const needed = ended_.size() + pending_.size() + 1;
    if (needed > ended_.capacity()) { ended_.reserve(std::max(needed, 2 * ended_.capacity())); }
    pending_.insert(newest_ + 1);
    return ++newest_;
  }

  /// Ends a fence. @return Whether it was pending
  bool end(fence_result const& result) noexcept
  {
    if (!creator_process_.is_of_this_process()) { return false; }
    auto const lock = std::lock_guard{mutex_};
    if (pending_.erase(result.fence) == 0) { return false; }
    ended_.push_back(result);
    signal();
    return true;
  }

  [[nodiscard]] std::size_t num_pending() const noexcept
  {
    if (!creator_process_.is_of_this_process()) { return 0; }
    auto const lock = std::lock_guard{mutex_};
    return pending_.size();
  }

  [[nodiscard]] std::vector<fence_result> poll()
  {
    check_process();
    auto const lock = std::lock_guard{mutex_};
    if (!is_signalled_) { return {}; }
    // Copied, because the reserved memory is for the pending fences.
    auto results = ended_;
    ended_.clear();
    is_signalled_ = false;
    auto count    = std::uint64_t{};
    // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection): the descriptor does not block.
    (void)!read(descriptor_, &count, sizeof(count));
    return results;
  }

  void wake() noexcept
  {
    if (!creator_process_.is_of_this_process()) { return; }
    auto const lock = std::lock_guard{mutex_};
    signal();
  }

 private:
  /// Makes the descriptor readable. Called with the lock, so that it is readable only if there are
  /// results.
  void signal() noexcept
  {
    if (is_signalled_) { return; }
    is_signalled_  = true;
    auto const one = std::uint64_t{1};
    (void)!write(descriptor_, &one, sizeof(one));
  }

  static int open_descriptor()
  {
    auto const descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor < 0) { throw std::system_error{errno, std::generic_category(), "eventfd"}; }
    return descriptor;
  }

  int const descriptor_{open_descriptor()};
  /// Checked before locking: the mutex may have been locked at the fork.
  process_id creator_process_;
  mutable std::mutex mutex_;  ///< guards the members below, and the descriptor's counter
  fence_id newest_{0};
  std::unordered_set<fence_id> pending_;
  std::vector<fence_result> ended_;  ///< has room for the results of all pending fences
  bool is_signalled_{false};         ///< whether the descriptor is readable
};

namespace {

/**
 * @brief A fence in a stream, which reports to its board when the work before it is done.
 *
 * Fences of other streams are independent: a program may enqueue the work that one stream waits for
 * only after the fence of another stream.
 */
class stream_fence : private deferred_release {
 public:
  /**
   * @brief Creates a fence at a point that is recorded already.
   *
   * @throws std::bad_alloc or std::system_error
   *
   * @param board Board that gets the result
   * @param event Event recorded at that point
   * @param keeper Keeps the event alive if another object owns it
   */
  static fence_id start(std::shared_ptr<fence_board> const& board,
                        pooled_event event,
                        std::shared_ptr<void const> keeper)
  {
    auto fence = std::unique_ptr<stream_fence>{new stream_fence{board, std::move(keeper)}};
    fence->add_point(std::move(event));
    auto const id = fence->id_ = board->add();
    fence.release()->push_to_fence_queue();  // it owns itself
    return id;
  }

 private:
  friend std::default_delete<stream_fence>;

  stream_fence(std::weak_ptr<fence_board> board, std::shared_ptr<void const> keeper)
    : deferred_release{false}, board_{std::move(board)}, keeper_{std::move(keeper)}
  { prepare_fence(); }

  ~stream_fence() override = default;

  void finish(cudaError_t status) noexcept override
  {
    if (std::exchange(is_ended_, true)) {
      delete this;
      return;
    }
    auto const state  = status == cudaSuccess ? fence_state::reached : fence_state::failed;
    auto const result = fence_result{id_, state, status};
    auto const board  = board_.lock();
    if (keeper_ == nullptr) {
      delete this;
    } else {
      // Releasing it may take time, or need a lock whose holder waits for a fence, so that is not
      // part of the fence. It is pushed before the fence is reported, because the receiver may
      // drain the releases.
      release_when_ready();
    }
    if (board != nullptr) { board->end(result); }
  }

  std::weak_ptr<fence_board> board_;
  std::shared_ptr<void const> keeper_;
  fence_id id_{0};
  bool is_ended_{false};  ///< only the objects that it keeps alive are left to release
};

}  // namespace
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

fence_id fence_set::add(cuda::stream_ref stream, rmm::cuda_device_id device)
{
  detail::nvtx_range const range{__func__};
  // Check before using CUDA: the stream may also belong to the parent.
  board_->check_process();
  if (!has_gpu()) { return add(detail::pooled_event{}, nullptr); }
  auto const guard = detail::guard_device(device);
  detail::require_no_capture(stream);
  auto event = detail::pooled_event::acquire();
  RMM_CUDA_TRY(event.record(stream));
  return detail::stream_fence::start(board_, std::move(event), nullptr);
}

fence_id fence_set::add(cudaEvent_t event, int device, std::shared_ptr<void const> keeper)
{
  auto const point = detail::pooled_event::borrow(event, device);
  return point.query() == cudaSuccess ? 0 : add(point, std::move(keeper));
}

fence_id fence_set::add(detail::pooled_event const& event, std::shared_ptr<void const> keeper)
{
  if (event) { return detail::stream_fence::start(board_, event.reference(), std::move(keeper)); }
  auto const fence = add();
  complete(fence);
  return fence;
}

fence_id fence_set::add() { return board_->add(); }

void fence_set::complete(fence_id fence) noexcept
{ board_->end({fence, fence_state::reached, cudaSuccess}); }

bool fence_set::cancel(fence_id fence) noexcept
{ return board_->end({fence, fence_state::cancelled, cudaSuccess}); }

std::size_t fence_set::num_pending() const noexcept { return board_->num_pending(); }

std::vector<fence_result> fence_set::poll() { return board_->poll(); }

void fence_set::wake() noexcept { board_->wake(); }

}  // namespace cudf_arrow_bridge
