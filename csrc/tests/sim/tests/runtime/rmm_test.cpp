// SPDX-License-Identifier: Apache-2.0
/// @file
/// The functions of librmm that work on the simulation.
#include "sim/pool_resource.hpp"
#include "sim/world_test.hpp"

#include <rmm/cuda_device.hpp>
#include <rmm/device_buffer.hpp>

#include <cstddef>
#include <cstring>
#include <memory>

namespace {

using sim::memory_kind;

class rmm_functions : public sim::world_test {};

TEST_F(rmm_functions, set_and_return_the_current_device)
{
  EXPECT_EQ(rmm::get_current_cuda_device().value(), 0);
  {
    auto const guard = rmm::cuda_set_device_raii{rmm::cuda_device_id{1}};
    auto device      = -1;
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    EXPECT_EQ(device, 1);
  }
  EXPECT_EQ(rmm::get_current_cuda_device().value(), 0);
}

TEST_F(rmm_functions, free_buffers_on_the_device_of_their_creation)
{
  auto pool   = sim::pool_resource{memory_kind::device, 1};
  auto buffer = std::unique_ptr<rmm::device_buffer>{};
  {
    auto const guard = rmm::cuda_set_device_raii{rmm::cuda_device_id{1}};
    buffer           = std::make_unique<rmm::device_buffer>(std::size_t{8}, cudaStream_t{}, pool);
  }
  auto const slow = sim::slow_stream{cudaStream_t{}};
  buffer.reset();
  sim::drain();
  EXPECT_EQ(sim::leftovers(), "");
}

TEST_F(rmm_functions, copy_buffers_on_the_stream)
{
  if (!sim::simulates_copies_of_rmm) { GTEST_SKIP() << "rmm calls CUDA"; }
  auto const stream = sim::stream{};
  auto pool         = sim::pool_resource{};
  auto source       = rmm::device_buffer{8, stream.get(), pool};
  {
    auto const slow = sim::slow_stream{stream.get()};
    sim::enqueue(stream.get(), [data = source.data()] { std::memset(data, 3, 8); });
    auto const copy  = rmm::device_buffer{source, stream.get(), pool};
    auto const again = rmm::device_buffer{copy.data(), copy.size(), stream.get(), pool};
    sim::enqueue(stream.get(), [data = again.data()] {
      EXPECT_EQ(std::to_integer<int>(static_cast<std::byte const*>(data)[7]), 3);
    });
  }
}

}  // namespace
