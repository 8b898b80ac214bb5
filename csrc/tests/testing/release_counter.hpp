// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/owners.hpp>

#include <atomic>
#include <utility>

namespace cudf_arrow_bridge::test {

/// A producer's array that counts its releases.
class tracked {
 public:
  explicit tracked(unique_array source) : inner_{std::move(source)}
  {
    array->device_type        = ARROW_DEVICE_CPU;
    array->device_id          = -1;
    array->array              = *inner_.get();
    array->array.release      = &release;
    array->array.private_data = this;
  }

  tracked(tracked&&) = delete;

  std::atomic<int> released{0};
  unique_device_array array;

 private:
  static void release(ArrowArray* array)
  {
    auto* self     = static_cast<tracked*>(array->private_data);
    array->release = nullptr;
    ++self->released;
    self->inner_.reset();
  }

  unique_array inner_;
};

}  // namespace cudf_arrow_bridge::test
