// SPDX-License-Identifier: Apache-2.0
#include "sim/world_test.hpp"

#include <new>
#include <stdexcept>
#include <thread>

namespace {

class faults : public sim::world_test {};

TEST_F(faults, strike_once_and_do_nothing)
{
  sim::fail_next("cudaSetDevice", cudaErrorIllegalAddress);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorIllegalAddress);
  auto device = -1;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
}

TEST_F(faults, can_let_some_calls_pass)
{
  sim::fail_next("cudaGetDevice", cudaErrorInvalidValue, 2);
  auto device = 0;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(cudaGetDevice(&device), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(sim::calls("cudaGetDevice"), 4U);
}

TEST_F(faults, can_stay)
{
  auto device = 0;
  sim::fail_all(cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetDevice(&device), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaStreamSynchronize(cudaStream_t{}), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  sim::fail_all(cudaSuccess);
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
}

TEST_F(faults, make_allocations_throw)
{
  sim::fail_next("sim::allocate", cudaErrorMemoryAllocation);
  EXPECT_THROW((void)sim::allocate(sim::memory_kind::device, 0, 8), std::bad_alloc);
}

TEST_F(faults, of_kernels_are_told)
{
  sim::enqueue(cudaStream_t{}, [] { throw std::runtime_error{"oh"}; });
  sim::drain();
  EXPECT_EQ(sim::take_violations(), std::vector<std::string>{"a kernel threw: oh"});
}

TEST_F(faults, have_names)
{
  EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidResourceHandle), "cudaErrorInvalidResourceHandle");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
}

class devices : public sim::world_test {};

TEST_F(devices, are_as_many_as_asked_for)
{
  auto count = 0;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
  sim::reset(1, 3);
  EXPECT_EQ(cudaSetDevice(2), cudaSuccess);
}

TEST_F(devices, are_current_per_thread)
{
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  std::thread{[] {
    auto device = -1;
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    EXPECT_EQ(device, 0);
  }}.join();
  auto device = -1;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 1);
}

TEST_F(devices, must_not_be_synchronised)
{
  auto const one = sim::stream{};
  auto ran       = false;
  sim::enqueue(one.get(), [&] { ran = true; });
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_TRUE(ran);
  EXPECT_EQ(sim::take_violations().size(), 1U);
}

}  // namespace
