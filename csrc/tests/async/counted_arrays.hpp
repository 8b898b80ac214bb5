// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/owners.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace cudf_arrow_bridge::test {

/// Makes arrays without columns, and counts their releases. The length of an array is its number.
class counted_arrays {
 public:
  explicit counted_arrays(std::size_t max_arrays = 64) : releases_(max_arrays) {}

  counted_arrays(counted_arrays const&)            = delete;
  counted_arrays& operator=(counted_arrays const&) = delete;

  ~counted_arrays()
  {
    for (std::int64_t number = 0; number < num_made_; ++number) {
      EXPECT_EQ(num_releases(number), 1) << "of array " << number;
    }
  }

  unique_device_array make()
  {
    auto array                = unique_device_array{};
    array->device_id          = -1;
    array->device_type        = ARROW_DEVICE_CPU;
    array->array.length       = num_made_++;
    array->array.release      = &release;
    array->array.private_data = &releases_.at(static_cast<std::size_t>(array->array.length));
    return array;
  }

  [[nodiscard]] int num_releases(std::int64_t number) const
  { return releases_.at(static_cast<std::size_t>(number)); }

  [[nodiscard]] std::int64_t num_made() const { return num_made_; }

 private:
  static void release(ArrowArray* array)
  {
    ++*static_cast<std::atomic<int>*>(array->private_data);
    array->release = nullptr;
  }

  std::vector<std::atomic<int>> releases_;
  std::int64_t num_made_{0};
};

}  // namespace cudf_arrow_bridge::test
