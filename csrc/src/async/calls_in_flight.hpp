// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoarrow/nanoarrow.h>

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Counts the running calls into a peer, so that the peer is kept alive until they return.
 *
 * A producer may be freed when `release` has returned, while another thread is in its `request`.
 */
class calls_in_flight {
 public:
  /// Counts a call of this thread. The lock is released during the call.
  class call {
   public:
    call(calls_in_flight& calls, std::unique_lock<std::mutex>& lock)
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
    friend class calls_in_flight;

    calls_in_flight& calls_;
    std::unique_lock<std::mutex>& lock_;
    call* outer_;
    static inline thread_local call* innermost_{nullptr};
  };

  /// Waits until no other thread is in a call. A call of this thread itself cannot return before.
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

/// A callback that a call of the peer may still run while its owner drops it; null for an empty
/// function.
using shared_callback = std::shared_ptr<std::function<void()> const>;

inline shared_callback share_of(std::function<void()> callback)
{ return callback ? std::make_shared<std::function<void()> const>(std::move(callback)) : nullptr; }

/// Copies the metadata of a peer, encoded as in `ArrowSchema.metadata`; null means empty.
[[nodiscard]] inline std::string copy_metadata(char const* metadata)
{
  auto const size = ArrowMetadataSizeOf(metadata);
  return size > 0 ? std::string(metadata, static_cast<std::size_t>(size)) : std::string{};
}

/// @return Metadata for a peer: null for none
[[nodiscard]] inline char const* metadata_or_null(std::string const& metadata) noexcept
{ return metadata.empty() ? nullptr : metadata.data(); }

}  // namespace cudf_arrow_bridge::detail
