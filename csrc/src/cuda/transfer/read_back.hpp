// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda/stream>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cudf_arrow_bridge::detail::device {

class read_back_block;

/**
 * @brief Reads several integers from device memory with one synchronization.
 *
 * They are copied to pinned memory if available. If the wait fails, that memory is kept until the
 * copies are done.
 */
class read_batch {
 public:
  explicit read_batch(cuda::stream_ref stream) : stream_{stream} {}

  read_batch(read_batch const&)            = delete;
  read_batch& operator=(read_batch const&) = delete;
  ~read_batch();

  /// Adds an integer of 2, 4 or 8 bytes to read. @return Its number, for `at`
  std::size_t add(void const* source, std::int64_t width);

  [[nodiscard]] bool is_empty() const noexcept { return integers_.empty(); }

  /**
   * @brief Enqueues the copies.
   *
   * @throws rmm::cuda_error if CUDA refuses one
   */
  void enqueue();

  /**
   * @brief Waits for the stream, and so for the copies.
   *
   * @throws rmm::cuda_error if work on the stream has failed
   */
  void wait();

  /// Call this instead of `wait` if the host has synchronized with the stream since `enqueue`.
  void note_wait() noexcept { is_done_ = true; }

  /// @return The integer with a number; only after waiting
  [[nodiscard]] std::int64_t at(std::size_t number) const;

 private:
  struct integer {
    void const* source;
    std::int64_t width;
  };

  cuda::stream_ref stream_;
  std::vector<integer> integers_;
  read_back_block* block_{nullptr};
  bool is_done_{false};
};

/**
 * @brief Reads one integer of 2, 4 or 8 bytes from device memory. Waits for the stream.
 *
 * @throws rmm::cuda_error if CUDA refuses the copy or the work before it has failed
 */
std::int64_t read_integer(void const* source, std::int64_t width, cuda::stream_ref stream);

}  // namespace cudf_arrow_bridge::detail::device
