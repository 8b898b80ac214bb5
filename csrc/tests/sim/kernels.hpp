// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels, held streams and captures.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <optional>

namespace sim {

/**
 * @brief Launches a "kernel": a function that reads and writes memory when the stream runs it.
 *
 * It runs on the thread of the stream, while no other operation runs. Like a real kernel, it must
 * not call CUDA: the call fails, and `take_violations` reports it.
 *
 * @throws std::runtime_error if CUDA would reject the launch: the stream does not exist or belongs
 *   to another device than the current one
 */
void enqueue(cudaStream_t stream, std::function<void()> kernel);

/// Stops `stream` before its next operation, like a long kernel.
void hold(cudaStream_t stream);

/// Ends `hold`.
void release(cudaStream_t stream);

/// A new non-blocking stream, destroyed with the object.
class stream {
 public:
  explicit stream(unsigned int flags = cudaStreamNonBlocking)
  { (void)cudaStreamCreateWithFlags(&handle_, flags); }

  ~stream() { (void)cudaStreamDestroy(handle_); }

  stream(stream const&)            = delete;
  stream& operator=(stream const&) = delete;

  [[nodiscard]] cudaStream_t get() const { return handle_; }

 private:
  cudaStream_t handle_{};
};

/// Holds a stream during its lifetime.
class slow_stream {
 public:
  explicit slow_stream(cudaStream_t stream) : stream_{stream} { hold(stream); }

  ~slow_stream() { release(stream_); }

  slow_stream(slow_stream const&)            = delete;
  slow_stream& operator=(slow_stream const&) = delete;

 private:
  cudaStream_t stream_;
};

/// Captures a stream into a graph in the global mode, from the construction until `end`.
class stream_capture {
 public:
  explicit stream_capture(cudaStream_t stream);

  /// @return The number of captured operations; none if the capture was invalidated
  std::optional<std::size_t> end();

 private:
  cudaStream_t stream_;
};

}  // namespace sim
