// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sim.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <rmm/cuda_device.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::test {

using sim::memory_kind;
using integers_t = std::vector<std::int32_t>;

/// Makes a device current during its lifetime.
using on_device = rmm::cuda_set_device_raii;

/**
 * @brief An array of integers of another library, computed on a stream, with an event.
 *
 * Its release callback overwrites the memory at once, so that it may be reused.
 */
class producer {
 public:
  explicit producer(cudaStream_t stream,
                    integers_t values = {1, 2, 3, 4},
                    memory_kind kind  = memory_kind::device,
                    int device        = 0)
    : state_{std::make_shared<state>()}
  {
    auto const guard = on_device{rmm::cuda_device_id{device}};
    auto const size  = values.size() * sizeof(std::int32_t);
    state_->data     = sim::allocate(kind, device, size);
    state_->buffers  = {nullptr, state_->data};
    EXPECT_EQ(cudaEventCreateWithFlags(&state_->ready, cudaEventDisableTiming), cudaSuccess);
    array.array.length       = static_cast<std::int64_t>(values.size());
    array.array.n_buffers    = 2;
    array.array.buffers      = state_->buffers.data();
    array.array.private_data = new std::shared_ptr<state>{state_};
    array.array.release      = &release;
    array.device_type        = kind == memory_kind::pinned    ? ARROW_DEVICE_CUDA_HOST
                               : kind == memory_kind::managed ? ARROW_DEVICE_CUDA_MANAGED
                                                              : ARROW_DEVICE_CUDA;
    array.device_id          = device;
    array.sync_event         = &state_->ready;
    sim::enqueue(stream, [target = state_->data, size, values = std::move(values)] {
      std::memcpy(target, values.data(), size);
    });
    EXPECT_EQ(cudaEventRecord(state_->ready, stream), cudaSuccess);
  }

  producer(producer const&)            = delete;
  producer& operator=(producer const&) = delete;

  ~producer()
  {
    if (array.array.release != nullptr) { array.array.release(&array.array); }
  }

  [[nodiscard]] int released() const { return state_->released; }

  [[nodiscard]] void* data() const { return state_->data; }

  /// Sets a function that the release callback also calls.
  void when_released(std::function<void()> action) { state_->action = std::move(action); }

  ArrowDeviceArray array{};

 private:
  struct state {
    void* data{nullptr};
    std::array<void const*, 2> buffers{};
    cudaEvent_t ready{};
    std::function<void()> action{[] {}};
    std::atomic<int> released{0};
  };

  static void release(ArrowArray* array)
  {
    auto* held = static_cast<std::shared_ptr<state>*>(array->private_data);
    auto all   = std::unique_ptr<std::shared_ptr<state>>{held};
    (*all)->action();
    sim::deallocate((*all)->data);
    EXPECT_EQ(cudaEventDestroy((*all)->ready), cudaSuccess);
    (*all)->action = {};
    ++(*all)->released;
    array->release = nullptr;
  }

  std::shared_ptr<state> state_;
};

}  // namespace cudf_arrow_bridge::test
