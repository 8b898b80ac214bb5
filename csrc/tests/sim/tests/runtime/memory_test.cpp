// SPDX-License-Identifier: Apache-2.0
#include "sim/tests/runtime/filled_memory.hpp"
#include "sim/world_test.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>

namespace {

using sim::filled_size;
using sim::holds;
using sim::memory_kind;
using sim::stream;

class memory : public sim::world_test {};

cudaPointerAttributes attributes(void const* pointer)
{
  auto result = cudaPointerAttributes{};
  EXPECT_EQ(cudaPointerGetAttributes(&result, pointer), cudaSuccess);
  return result;
}

TEST_F(memory, attributes_report_kind_and_device_at_any_address_inside)
{
  struct expectation {
    memory_kind kind;
    cudaMemoryType type;
  };
  for (auto const& [kind, type] : {expectation{memory_kind::device, cudaMemoryTypeDevice},
                                   expectation{memory_kind::managed, cudaMemoryTypeManaged},
                                   expectation{memory_kind::pinned, cudaMemoryTypeHost}}) {
    auto* data = static_cast<std::byte*>(sim::allocate(kind, 1, filled_size));
    for (auto const offset : {std::size_t{0}, filled_size / 2, filled_size - 1}) {
      EXPECT_EQ(attributes(data + offset).type, type);
      EXPECT_EQ(attributes(data + offset).device, 1);
    }
    EXPECT_EQ(attributes(data + filled_size).type, cudaMemoryTypeUnregistered);
    sim::deallocate(data);
    EXPECT_EQ(attributes(data).type, cudaMemoryTypeUnregistered);
  }
}

TEST_F(memory, pageable_memory_can_be_accessible_to_one_device)
{
  auto const reaches = [](int device) {
    auto value = -1;
    EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrPageableMemoryAccess, device), cudaSuccess);
    return value;
  };
  EXPECT_EQ(reaches(0), 0);
  EXPECT_EQ(reaches(1), 0);
  sim::share_pageable_memory_with(1);
  EXPECT_EQ(reaches(0), 0);
  EXPECT_EQ(reaches(1), 1);
  auto value = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrPageableMemoryAccess, 2),
            cudaErrorInvalidDevice);
}

TEST_F(memory, pageable_and_unknown_memory_is_unregistered)
{
  auto* pageable   = sim::allocate(memory_kind::pageable, 0, filled_size);
  auto const local = 0;
  for (void const* pointer : {static_cast<void const*>(pageable),
                              static_cast<void const*>(&local),
                              static_cast<void const*>(nullptr)}) {
    EXPECT_EQ(attributes(pointer).type, cudaMemoryTypeUnregistered);
    EXPECT_EQ(attributes(pointer).device, cudaInvalidDeviceId);
  }
  sim::deallocate(pageable);
}

TEST_F(memory, freed_memory_is_overwritten_and_reused)
{
  auto* first = sim::allocate(memory_kind::device, 0, filled_size);
  EXPECT_TRUE(holds(first, sim::fresh_byte));
  sim::deallocate(first);
  auto* elsewhere = sim::allocate(memory_kind::device, 1, filled_size);
  EXPECT_NE(elsewhere, first);
  auto* second = sim::allocate(memory_kind::device, 0, filled_size);
  EXPECT_EQ(second, first);
  EXPECT_TRUE(holds(second, sim::freed_byte));
  EXPECT_EQ(sim::live_allocations(), 2U);
  sim::deallocate(second);
  sim::deallocate(elsewhere);
}

TEST_F(memory, freeing_unallocated_memory_is_a_violation)
{
  auto* data = sim::allocate(memory_kind::device, 0, filled_size);
  auto local = 0;
  sim::deallocate(data);
  sim::deallocate(data);
  sim::deallocate_on(cudaStream_t{}, data);
  sim::deallocate(&local);
  EXPECT_EQ(cudaFree(&local), cudaErrorInvalidValue);
  EXPECT_EQ(sim::take_violations().size(), 4U);
}

TEST_F(memory, leftovers_lists_memory_that_was_not_freed)
{
  (void)sim::allocate(memory_kind::device, 1, filled_size);
  EXPECT_EQ(sim::leftovers(), "memory of 100 bytes on device 1\n");
  sim::reset(1);
  EXPECT_EQ(sim::leftovers(), "");
}

TEST_F(memory, cuda_allocation_functions_return_memory_of_their_kind)
{
  struct function_pair {
    cudaError_t (*allocate)(void**);
    cudaError_t (*free)(void*);
    cudaMemoryType type;
  };
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  for (auto const& [allocate, free, type] :
       {function_pair{
          [](void** p) { return cudaMalloc(p, filled_size); }, cudaFree, cudaMemoryTypeDevice},
        function_pair{
          [](void** p) { return cudaMallocManaged(p, filled_size, cudaMemAttachGlobal); },
          cudaFree,
          cudaMemoryTypeManaged},
        function_pair{[](void** p) { return cudaMallocHost(p, filled_size); },
                      cudaFreeHost,
                      cudaMemoryTypeHost},
        function_pair{[](void** p) { return cudaMallocAsync(p, filled_size, cudaStreamPerThread); },
                      [](void* p) { return cudaFreeAsync(p, cudaStreamPerThread); },
                      cudaMemoryTypeDevice}}) {
    void* data = nullptr;
    EXPECT_EQ(allocate(&data), cudaSuccess);
    EXPECT_EQ(attributes(data).type, type);
    EXPECT_EQ(attributes(data).device, 1);
    EXPECT_EQ(free(data), cudaSuccess);
  }
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
}

TEST_F(memory, cuda_free_waits_for_the_device)
{
  auto const one = stream{};
  void* data     = nullptr;
  auto ran       = false;
  EXPECT_EQ(cudaMalloc(&data, filled_size), cudaSuccess);
  sim::enqueue(one.get(), [&] { ran = true; });
  EXPECT_EQ(cudaFree(data), cudaSuccess);
  EXPECT_TRUE(ran);
}

TEST_F(memory, driver_returns_the_range_of_an_allocation)
{
  void* function = nullptr;
  auto result    = cudaDriverEntryPointQueryResult{};
  EXPECT_EQ(cudaGetDriverEntryPointByVersion(
              "cuPointerGetAttributes", &function, 12000, cudaEnableDefault, &result),
            cudaSuccess);
  ASSERT_EQ(result, cudaDriverEntryPointSuccess);
  auto const ask     = reinterpret_cast<decltype(&cuPointerGetAttributes)>(function);
  auto type          = CUmemorytype{};
  auto base          = CUdeviceptr{};
  auto length        = std::size_t{0};
  auto names         = std::array{CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                  CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  auto values        = std::array<void*, 3>{&type, &base, &length};
  auto* data         = sim::allocate(memory_kind::device, 0, filled_size);
  auto const address = reinterpret_cast<CUdeviceptr>(data);
  EXPECT_EQ(ask(3, names.data(), values.data(), address + 7), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(base, address);
  EXPECT_EQ(length, filled_size);
  auto const found = sim::allocation_of(static_cast<std::byte*>(data) + 7);
  EXPECT_EQ(found.data(), data);
  EXPECT_EQ(found.size(), filled_size);
  sim::deallocate(data);
  EXPECT_EQ(ask(3, names.data(), values.data(), address), CUDA_SUCCESS);
  EXPECT_EQ(type, CUmemorytype{});
  EXPECT_EQ(length, 0U);
  EXPECT_TRUE(sim::allocation_of(data).empty());
}

#ifdef __SANITIZE_ADDRESS__
TEST_F(memory, sanitizer_detects_reads_after_free_and_beyond_the_end)
{
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto* data = static_cast<std::byte volatile*>(sim::allocate(memory_kind::device, 0, filled_size));
  EXPECT_DEATH((void)data[filled_size], "use-after-poison");
  sim::deallocate(const_cast<std::byte*>(data));
  EXPECT_DEATH((void)data[0], "use-after-poison");
}
#endif

}  // namespace
