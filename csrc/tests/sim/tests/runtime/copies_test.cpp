// SPDX-License-Identifier: Apache-2.0
#include "sim/world_test.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>

namespace {

using sim::memory_kind;

constexpr std::size_t num_bytes = 64;

class copies : public sim::world_test {
 protected:
  copies()
  {
    std::memset(device_, 1, num_bytes);
    std::memset(pinned_, 2, num_bytes);
  }

  void TearDown() override
  {
    stream_.reset();
    for (auto* data : {device_, other_, pinned_}) { sim::deallocate(data); }
    world_test::TearDown();
  }

  [[nodiscard]] cudaStream_t stream() const { return stream_->get(); }

  static int first_byte(void const* data)
  { return std::to_integer<int>(*static_cast<std::byte const*>(data)); }

  void* device_{sim::allocate(memory_kind::device, 0, num_bytes)};
  void* other_{sim::allocate(memory_kind::device, 1, num_bytes)};
  void* pinned_{sim::allocate(memory_kind::pinned, 0, num_bytes)};
  std::unique_ptr<sim::stream> stream_{std::make_unique<sim::stream>()};
};

TEST_F(copies, run_on_their_stream)
{
  auto const syncs = sim::host_syncs_here();
  {
    auto const slow = sim::slow_stream{stream()};
    EXPECT_EQ(cudaMemcpyAsync(pinned_, device_, num_bytes, cudaMemcpyDefault, stream()),
              cudaSuccess);
    sim::drain();
    EXPECT_EQ(first_byte(pinned_), 2);
  }
  EXPECT_EQ(sim::host_syncs_here(), syncs);
  EXPECT_EQ(cudaStreamSynchronize(stream()), cudaSuccess);
  EXPECT_EQ(first_byte(pinned_), 1);
  EXPECT_EQ(sim::host_syncs_here(), syncs + 1);
}

TEST_F(copies, with_pageable_memory_may_wait_and_count_as_synchronization)
{
  auto waited = 0;
  for (auto i = 0; i < 100; ++i) {
    auto const syncs = sim::host_syncs_here();
    auto local       = std::array<std::byte, num_bytes>{};
    EXPECT_EQ(cudaMemcpyAsync(local.data(), device_, num_bytes, cudaMemcpyDeviceToHost, stream()),
              cudaSuccess);
    EXPECT_EQ(sim::host_syncs_here(), syncs + 1);
    waited += first_byte(local.data()) == 1 ? 1 : 0;
    EXPECT_EQ(cudaStreamSynchronize(stream()), cudaSuccess);
    EXPECT_EQ(first_byte(local.data()), 1);
  }
  EXPECT_GT(waited, 20);
  EXPECT_LT(waited, 100);
}

TEST_F(copies, between_host_buffers_always_wait)
{
  auto local = std::array<std::byte, num_bytes>{};
  EXPECT_EQ(cudaMemcpyAsync(local.data(), pinned_, num_bytes, cudaMemcpyHostToHost, stream()),
            cudaSuccess);
  EXPECT_EQ(first_byte(local.data()), 2);
}

TEST_F(copies, between_devices_check_the_device_of_each_pointer)
{
  EXPECT_EQ(cudaMemcpyPeerAsync(other_, 1, device_, 0, num_bytes, stream()), cudaSuccess);
  sim::drain();
  EXPECT_EQ(first_byte(other_), 1);
  EXPECT_EQ(cudaMemcpyPeerAsync(other_, 0, device_, 0, num_bytes, stream()), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyPeerAsync(other_, 2, device_, 0, num_bytes, stream()),
            cudaErrorInvalidDevice);
}

TEST_F(copies, of_pool_memory_of_another_device_must_be_between_peers)
{
  auto const far = [] {
    EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
    auto result = std::make_unique<sim::stream>();
    EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
    return result;
  }();
  auto* const pooled = sim::allocate_on(far->get(), memory_kind::device, 1, num_bytes);
  for (auto* target : {device_, pinned_}) {
    EXPECT_EQ(cudaMemcpyAsync(target, pooled, num_bytes, cudaMemcpyDefault, stream()),
              cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemcpyAsync(pooled, target, num_bytes, cudaMemcpyDefault, stream()),
              cudaErrorInvalidValue);
  }
  EXPECT_EQ(cudaMemcpyAsync(pinned_, pooled, num_bytes, cudaMemcpyDefault, far->get()),
            cudaSuccess);
  EXPECT_EQ(cudaMemcpyPeerAsync(pooled, 1, device_, 0, num_bytes, stream()), cudaSuccess);
  sim::drain();
  EXPECT_EQ(first_byte(pooled), 1);
  sim::deallocate_on(far->get(), pooled);
}

TEST_F(copies, reject_wrong_sizes_and_directions)
{
  auto const copy = [this](void* to, void const* from, std::size_t bytes, cudaMemcpyKind kind) {
    return cudaMemcpyAsync(to, from, bytes, kind, stream());
  };
  auto local = std::array<std::byte, num_bytes>{};
  EXPECT_EQ(copy(pinned_, device_, num_bytes + 1, cudaMemcpyDefault), cudaErrorInvalidValue);
  EXPECT_EQ(copy(local.data(), device_, num_bytes, cudaMemcpyHostToHost),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(copy(device_, local.data(), num_bytes, cudaMemcpyDeviceToDevice),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(copy(nullptr, nullptr, 0, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(local.data(), 0, num_bytes, stream()), cudaErrorInvalidValue);
}

TEST_F(copies, memset_runs_on_its_stream)
{
  {
    auto const slow = sim::slow_stream{stream()};
    EXPECT_EQ(cudaMemsetAsync(device_, 7, num_bytes, stream()), cudaSuccess);
    EXPECT_EQ(first_byte(device_), 1);
  }
  sim::drain();
  EXPECT_EQ(first_byte(device_), 7);
}

}  // namespace
