// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Tells the process that an object was made in from those forked off it later.
 *
 * CUDA does not survive a fork, and other threads are gone with whatever locks they held. All that
 * a child can do with its parent's device memory, events and queues is leave them alone. What it
 * makes itself is as good as in any process.
 */
class process_stamp {
 public:
  /// The stamp of this process.
  process_stamp() noexcept;

  [[nodiscard]] bool is_of_this_process() const noexcept
  { return num_forks_ == process_stamp{}.num_forks_; }

 private:
  std::uint32_t num_forks_;  ///< that lie between the process and its first ancestor
};

/**
 * @brief An object of which each process has its own, made when it is first asked for.
 *
 * Never destroyed: at exit others may still need it, and CUDA may be gone before it.
 */
template <typename T>
class per_process {
 public:
  constexpr per_process() noexcept = default;

  /// @throws std::bad_alloc or what making a `T` throws
  T& get()
  {
    auto* newest = newest_.load(std::memory_order_acquire);
    while (newest == nullptr || !newest->stamp.is_of_this_process()) {
      // No lock to make it under: one could have been held at the fork.
      auto fresh = std::make_unique<entry>(newest);
      if (newest_.compare_exchange_strong(newest, fresh.get(), std::memory_order_acq_rel)) {
        newest = fresh.release();
      }
    }
    return newest->object;
  }

 private:
  struct entry {
    explicit entry(entry* of_parent) : parents{of_parent} {}

    process_stamp stamp{};
    entry* parents;  ///< left alone, but no leak
    T object{};
  };

  std::atomic<entry*> newest_{nullptr};
};

}  // namespace cudf_arrow_bridge::detail
