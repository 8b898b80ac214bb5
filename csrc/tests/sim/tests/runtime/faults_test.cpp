// SPDX-License-Identifier: Apache-2.0
#include "sim/world_test.hpp"

#include <new>
#include <stdexcept>
#include <thread>

namespace {

class faults : public sim::world_test {};

TEST_F(faults, fail_next_fails_one_call_without_executing_it)
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

TEST_F(faults, fail_next_skips_a_number_of_calls)
{
  sim::fail_next("cudaGetDevice", cudaErrorInvalidValue, 2);
  auto device = 0;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(cudaGetDevice(&device), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(sim::calls("cudaGetDevice"), 4U);
}

TEST_F(faults, fail_all_makes_every_call_fail)
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

TEST_F(faults, fail_next_makes_an_allocation_throw)
{
  sim::fail_next("sim::allocate", cudaErrorMemoryAllocation);
  EXPECT_THROW((void)sim::allocate(sim::memory_kind::device, 0, 8), std::bad_alloc);
}

TEST_F(faults, exceptions_of_kernels_are_violations)
{
  sim::enqueue(cudaStream_t{}, [] { throw std::runtime_error{"oh"}; });
  sim::drain();
  EXPECT_EQ(sim::take_violations(), std::vector<std::string>{"a kernel threw: oh"});
}

TEST_F(faults, errors_have_names_and_descriptions)
{
  EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidResourceHandle), "cudaErrorInvalidResourceHandle");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
}

class devices : public sim::world_test {};

TEST_F(devices, reset_sets_the_number_of_devices)
{
  auto count = 0;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
  sim::reset(1, 3);
  EXPECT_EQ(cudaSetDevice(2), cudaSuccess);
}

TEST_F(devices, current_device_is_per_thread)
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

TEST_F(devices, synchronizing_a_device_is_a_violation)
{
  auto const one = sim::stream{};
  auto ran       = false;
  sim::enqueue(one.get(), [&] { ran = true; });
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_TRUE(ran);
  EXPECT_EQ(sim::take_violations().size(), 1U);
}

}  // namespace
