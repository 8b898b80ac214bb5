// SPDX-License-Identifier: Apache-2.0
/// @file
/// Bodies in device memory, and their packed bytes.
#pragma once

#include "sim/tests/bridge_test.hpp"

#include <cudf_arrow_bridge/ipc.hpp>

#include <random>

namespace cudf_arrow_bridge::test {

using bytes_t = std::vector<std::byte>;

inline bytes_t random_bytes(std::size_t size, std::mt19937& random)
{
  auto result = bytes_t(size);
  for (auto& byte : result) { byte = static_cast<std::byte>(random() % 255 + 1); }
  return result;
}

/// A body whose buffers a kernel fills. Its memory is overwritten when its owner is destroyed.
class filled_body {
 public:
  filled_body(std::vector<std::size_t> const& sizes,
              cudaStream_t stream,
              unsigned int seed = 1,
              memory_kind kind  = memory_kind::device,
              int device        = 0)
  {
    auto random        = std::mt19937{seed};
    auto const guard   = on_device{rmm::cuda_device_id{device}};
    auto const buffers = std::shared_ptr<std::vector<void*>>{
      new std::vector<void*>, [released = released_](std::vector<void*>* all) {
        std::for_each(all->begin(), all->end(), &sim::deallocate);
        delete all;
        *released = true;
      }};
    for (auto const size : sizes) {
      auto const values = random_bytes(size, random);
      packed.insert(packed.end(), values.begin(), values.end());
      packed.resize((packed.size() + 63) / 64 * 64);
      if (size == 0) {
        body.buffers.push_back({nullptr, 0});
        continue;
      }
      buffers->push_back(sim::allocate(kind, device, size));
      body.buffers.push_back({buffers->back(), static_cast<std::int64_t>(size)});
      sim::enqueue(stream, [target = buffers->back(), values] {
        std::memcpy(target, values.data(), values.size());
      });
    }
    body.owner    = buffers;
    body.location = {kind == memory_kind::device    ? ARROW_DEVICE_CUDA
                     : kind == memory_kind::managed ? ARROW_DEVICE_CUDA_MANAGED
                                                    : ARROW_DEVICE_CUDA_HOST,
                     device};
  }

  [[nodiscard]] bool is_released() const { return *released_; }

  ipc_body body;
  bytes_t packed;

 private:
  std::shared_ptr<bool> released_{std::make_shared<bool>(false)};
};

/// Sizes of a few buffers: absent, small and large ones.
inline std::vector<std::size_t> random_sizes(std::mt19937& random)
{
  auto result = std::vector<std::size_t>{};
  for (auto i = random() % 12; i > 0; --i) {
    result.push_back(random() % 4 == 0 ? 0 : random() % (random() % 3 == 0 ? 3000 : 130));
  }
  return result;
}

/// @return The number of free bytes in the pool of pinned memory, if they are contiguous
inline std::size_t free_pinned_memory()
{ return detail::pinned_memory{1, std::size_t{1} << 26, detail::transfer_kind::body}.size(); }

inline constexpr auto all_pinned_memory = std::size_t{1} << 26;
inline constexpr auto pinned_block      = std::size_t{1} << 16;

}  // namespace cudf_arrow_bridge::test
