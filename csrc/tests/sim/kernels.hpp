// SPDX-License-Identifier: Apache-2.0
/// @file
/// Work for streams.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

namespace sim {

/**
 * @brief Launches a "kernel": any function that reads and writes memory when its turn comes.
 *
 * It runs on the stream's own thread, while no other operation does. As a real one it must not call
 * CUDA; doing so fails there and is a violation (see counters.hpp).
 *
 * @throws std::runtime_error if CUDA would refuse: the stream does not exist or belongs to another
 *   device than the current one
 */
void enqueue(cudaStream_t stream, std::function<void()> kernel);

/// Holds back whatever `stream` has not run yet: the next operation becomes one that takes long.
void hold(cudaStream_t stream);

/// Lets `stream` go on.
void release(cudaStream_t stream);

/// A stream of its own, destroyed with the object.
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

/// Holds a stream back while it lives.
class slow_stream {
 public:
  explicit slow_stream(cudaStream_t stream) : stream_{stream} { hold(stream); }

  ~slow_stream() { release(stream_); }

  slow_stream(slow_stream const&)            = delete;
  slow_stream& operator=(slow_stream const&) = delete;

 private:
  cudaStream_t stream_;
};

}  // namespace sim
