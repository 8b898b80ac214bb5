// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda/stream>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cudf_arrow_bridge::detail::device {

class read_back_block;

/**
 * @brief Integers that are read from device memory together, with one wait.
 *
 * They land in pinned memory where there is some, which outlives a wait that fails.
 */
class read_batch {
 public:
  explicit read_batch(cuda::stream_ref stream) : stream_{stream} {}

  read_batch(read_batch const&)            = delete;
  read_batch& operator=(read_batch const&) = delete;
  ~read_batch();

  /// Adds an integer of 2, 4 or 8 bytes. @return Its number
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
   * @throws rmm::cuda_error if the work before has failed
   */
  void wait();

  /// Says that somebody else has waited for the stream since `enqueue`.
  void note_wait() noexcept { is_done_ = true; }

  /// @return An integer, once the stream was waited for
  [[nodiscard]] std::int64_t at(std::size_t number) const;

 private:
  struct integer {
    void const* source;
    std::int64_t width;
  };

  cuda::stream_ref stream_;
  std::vector<integer> integers_;
  read_back_block* place_{nullptr};
  bool is_done_{false};
};

/**
 * @brief Reads one integer of 2, 4 or 8 bytes from device memory. Waits for the stream.
 *
 * @throws rmm::cuda_error if CUDA refuses the copy or the work before it has failed
 */
std::int64_t read_integer(void const* source, std::int64_t width, cuda::stream_ref stream);

}  // namespace cudf_arrow_bridge::detail::device
