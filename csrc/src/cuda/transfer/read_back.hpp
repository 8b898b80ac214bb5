// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/transfer/staging.hpp"

#include <cuda/stream>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cudf_arrow_bridge::detail::device {

/**
 * @brief Reads several integers from device memory with one synchronization.
 *
 * They are copied to memory that is kept until the copies are done, even if the wait fails.
 */
class read_back {
 public:
  explicit read_back(cuda::stream_ref stream) : stream_{stream} {}

  /// Adds an integer of 2, 4 or 8 bytes, or an unsigned byte, to read. @return Its number, for `at`
  std::size_t add(void const* source, std::int64_t width);

  [[nodiscard]] bool is_empty() const noexcept { return integers_.empty(); }

  /// Enqueues the copies.
  void enqueue();

  /// Waits for the stream, and so for the copies.
  void wait();

  /// Call this instead of `wait` if the host has synchronized with the stream since `enqueue`.
  void note_wait() noexcept
  {
    if (memory_) { memory_->note_wait(); }
  }

  /// @return The integer with a number; only after waiting
  [[nodiscard]] std::int64_t at(std::size_t number) const;

 private:
  /// Only after `enqueue`, which allocates the memory.
  [[nodiscard]] std::int64_t* values() const noexcept
  {
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access)
    return reinterpret_cast<std::int64_t*>(memory_->bytes().data());
  }

  struct integer {
    void const* source;
    std::int64_t width;
  };

  cuda::stream_ref stream_;
  std::vector<integer> integers_;
  std::optional<transfer_memory> memory_;  ///< 8 bytes for each integer
};

/// Reads one integer, see `read_back::add`, from device memory. Waits for the stream.
std::int64_t read_integer(void const* source, std::int64_t width, cuda::stream_ref stream);

}  // namespace cudf_arrow_bridge::detail::device
