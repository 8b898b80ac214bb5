// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Identifies the process in which an object was made, as opposed to its forked children.
 *
 * CUDA does not survive a fork, and other threads do not exist in the child, though locks that they
 * held stay locked. A child must not touch device memory, events and queues of its parent. Objects
 * that it makes itself are usable.
 */
class process_stamp {
 public:
  /// The stamp of this process.
  process_stamp() noexcept;

  [[nodiscard]] bool is_of_this_process() const noexcept
  { return num_forks_ == process_stamp{}.num_forks_; }

 private:
  std::uint32_t num_forks_;  ///< forks between the first ancestor and this process
};

/**
 * @brief A lazily made object that each process, also a forked child, has its own instance of.
 *
 * Never destroyed: other destructors may use it at exit, and CUDA may be shut down before.
 */
template <typename T>
class per_process {
 public:
  constexpr per_process() noexcept = default;

  /// @throws std::bad_alloc, or what the constructor of `T` throws
  T& get()
  {
    auto* newest = newest_.load(std::memory_order_acquire);
    while (newest == nullptr || !newest->stamp.is_of_this_process()) {
      // Lock-free, because a mutex could have been held by another thread at the fork.
      auto fresh = std::make_unique<entry>(newest);
      if (newest_.compare_exchange_strong(newest, fresh.get(), std::memory_order_acq_rel)) {
        newest = fresh.release();
      }
    }
    return newest->object;
  }

 private:
  struct entry {
    explicit entry(entry* inherited) : parent_entry{inherited} {}

    process_stamp stamp{};
    entry* parent_entry;  ///< not used; referenced so that leak checkers find it
    T object{};
  };

  std::atomic<entry*> newest_{nullptr};
};

}  // namespace cudf_arrow_bridge::detail
