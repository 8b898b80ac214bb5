// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/detail/memory_table.hpp"
#include "sim/detail/scheduler.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace sim::detail {

struct event_state {
  int device;
  unsigned int flags;
  operation_ptr record;                    ///< the newest record; null if never recorded
  std::shared_ptr<capture> captured_by{};  ///< the capture that the newest record belongs to
};

/// Events by handle. Handles are never reused.
class event_table {
 public:
  cudaEvent_t create(int device, unsigned int flags);

  bool destroy(cudaEvent_t event) { return events_.erase(event) == 1; }

  event_state* find(cudaEvent_t event);

  /// Drops the records of all events.
  void forget_records();

  [[nodiscard]] std::size_t size() const { return events_.size(); }

 private:
  std::uint64_t last_id_{0xFFFF};
  std::map<cudaEvent_t, event_state> events_;
};

/// Faults that tests have set.
class fault_table {
 public:
  void add(std::string_view function, cudaError_t error, int after);

  void add_delay(std::string_view function, std::function<void()> action);

  void set_sticky(cudaError_t error) { sticky_ = error; }

  [[nodiscard]] cudaError_t sticky() const { return sticky_; }

  /// @return The error that the next call of `function` must return; `cudaSuccess`: none
  cudaError_t next(std::string_view function);

  /// Calls the action that delays the next call of `function`, if any, with the mutex unlocked.
  void delay(std::string_view function, std::unique_lock<std::mutex>& lock);

 private:
  struct fault {
    std::string function;
    cudaError_t error;
    int after;
  };

  std::vector<fault> faults_;
  std::map<std::string, std::function<void()>, std::less<>> delays_;
  cudaError_t sticky_{cudaSuccess};
};

/// The state of the simulation, guarded by one mutex. Never destroyed: CUDA is used during exit.
struct machine {
  static machine& instance();

  std::mutex mutex{};
  scheduler work{mutex};
  memory_table memory{};
  event_table events{};
  fault_table faults{};
  int num_devices{2};
  int reaches_pageable{-1};  ///< device whose kernels may use pageable memory; -1: none
  int driver_version{CUDART_VERSION};
  std::map<std::string, std::size_t, std::less<>> calls{};
  std::vector<std::string> violations{};
  std::size_t pinned_bytes{0};
  std::map<cudaGraph_t, std::size_t> graphs{};  ///< captured graphs, with their number of nodes

  /// @return The stream of a handle; for a default stream, that of the calling thread's device
  stream_state* find_stream(cudaStream_t handle);

  /**
   * @brief Checks a call that CUDA calls potentially unsafe during captures, such as `cudaMalloc`.
   *
   * @return An error if the calling thread must not make it; the captures that forbid it are then
   *   invalid
   */
  cudaError_t check_unsafe_call();

  /**
   * @brief Checks a call that enqueues an operation on a stream.
   *
   * @return An error if the capture of the stream is invalid, or if the stream is the legacy
   *   default stream and a blocking stream of its device is capturing; its capture is then invalid
   */
  cudaError_t check_enqueue(stream_state const& stream);

  /**
   * @brief Checks a call that waits for a stream or queries it.
   *
   * @return As `check_unsafe_call` and `check_enqueue`; also an error if the stream is capturing,
   * and its capture is then invalid
   */
  cudaError_t check_wait(stream_state const& stream);

  /// @return Whether a blocking stream of a device is capturing, so that its legacy stream is
  /// unusable
  [[nodiscard]] bool blocks_legacy(int device) const;

  /// Counts a call of the calling thread that waits or may wait for a stream.
  void count_host_sync();

  /// Runs all work of the streams of a device.
  void wait_for_device(std::unique_lock<std::mutex>& lock, int device);

  /// Frees memory in stream order. @return Whether it was allocated
  bool free_on(std::unique_lock<std::mutex>& lock, stream_state& stream, void* freed);

  /// Counts a call. @return An error if the call must fail; otherwise `cudaSuccess`
  cudaError_t begin_call(std::string_view function);
};

/// Calls `body` with the machine, while its mutex is locked.
template <typename Body>
auto locked(Body body)
{
  auto& all       = machine::instance();
  auto const lock = std::unique_lock{all.mutex};
  return body(all);
}

/// The calling thread's current device.
int& current_device();

/// The calling thread's mode of interaction with captures.
cudaStreamCaptureMode& capture_mode();

/// The calling thread's last error.
cudaError_t& last_error();

std::size_t& host_syncs_of_thread();

/**
 * @brief Implements a function of the runtime: handles faults and counting, then calls `body`.
 *
 * @param function Name of the function
 * @param body Called with the machine and its lock, returns an error code
 */
template <typename Body>
cudaError_t call(std::string_view function, Body&& body)
{
  auto& all = machine::instance();
  auto lock = std::unique_lock{all.mutex};
  all.faults.delay(function, lock);
  auto result = all.begin_call(function);
  if (result == cudaSuccess) { result = body(all, lock); }
  if (result != cudaSuccess) { last_error() = result; }
  return result;
}

}  // namespace sim::detail
