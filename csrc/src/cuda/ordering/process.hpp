// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda/stream>

#include <atomic>
#include <cstdint>
#include <memory>

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#error "the handle 0 is taken for the legacy default stream, whatever libcudf is built with"
#endif

namespace cudf_arrow_bridge::detail {

/**
 * @brief Identifies the process that created an object, as opposed to its forked children.
 *
 * CUDA does not survive a fork, and other threads do not exist in the child, although locks that
 * they held stay locked. A child must not use device memory, events and queues of its parent. It
 * may use objects that it creates itself.
 */
class process_id {
 public:
  /// The id of this process.
  process_id() noexcept;

  [[nodiscard]] bool is_of_this_process() const noexcept
  { return num_forks_ == process_id{}.num_forks_; }

 private:
  std::uint32_t num_forks_;  ///< forks between the first ancestor and this process
};

/**
 * @brief A lazily created object of which every process, including a forked child, has its own
 *   instance.
 *
 * It is never destroyed, because other destructors may use it at exit, and CUDA may be shut down
 * before.
 */
template <typename T>
class per_process {
 public:
  constexpr per_process() noexcept = default;

  /// @throws std::bad_alloc, or an exception of the constructor of `T`
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

    process_id stamp{};
    entry* parent_entry;  ///< not used; referenced so that leak checkers find it
    T object{};
  };

  std::atomic<entry*> newest_{nullptr};
};

/**
 * @brief Identifies the thread that created an object.
 *
 * `cudaStreamPerThread` is a different stream on each thread, and no handle refers to that of
 * another thread.
 */
class thread_id {
 public:
  /// The id of the calling thread.
  thread_id() noexcept;

  /**
   * @brief A stream, usable on the calling thread, that is ordered after `stream` of this thread
   * id's thread.
   *
   * @return `stream` itself; but if it is another thread's `cudaStreamPerThread`, the legacy
   * default stream, which waits for the per-thread default streams of all threads
   */
  [[nodiscard]] cuda::stream_ref resolve(cuda::stream_ref stream) const noexcept;

 private:
  std::uint64_t number_;
};

}  // namespace cudf_arrow_bridge::detail
