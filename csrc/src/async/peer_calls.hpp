// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Counts the calls into a peer that are running, so that the peer is kept until they are
 * done.
 *
 * A producer may go once `release` has returned, while another thread is inside its `request`.
 */
class peer_calls {
 public:
  /// Counts a call of this thread, within which the lock is released.
  class call {
   public:
    call(peer_calls& calls, std::unique_lock<std::mutex>& lock)
      : calls_{calls}, lock_{lock}, outer_{innermost_}
    {
      innermost_ = this;
      ++calls_.num_running_;
      lock_.unlock();
    }

    call(call const&)            = delete;
    call& operator=(call const&) = delete;

    ~call()
    {
      lock_.lock();
      innermost_ = outer_;
      --calls_.num_running_;
      calls_.returned_.notify_all();
    }

   private:
    friend class peer_calls;

    peer_calls& calls_;
    std::unique_lock<std::mutex>& lock_;
    call* outer_;
    static inline thread_local call* innermost_{nullptr};
  };

  /// Waits until no other thread is in a call; one that this thread is in itself cannot return.
  void wait(std::unique_lock<std::mutex>& lock)
  {
    auto num_own = std::size_t{0};
    for (auto const* own = call::innermost_; own != nullptr; own = own->outer_) {
      num_own += &own->calls_ == this ? 1 : 0;
    }
    returned_.wait(lock, [&] { return num_running_ <= num_own; });
  }

 private:
  std::size_t num_running_{0};
  std::condition_variable returned_;
};

}  // namespace cudf_arrow_bridge::detail
