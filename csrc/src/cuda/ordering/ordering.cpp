// SPDX-License-Identifier: Apache-2.0
#include "cuda/ordering/events.hpp"
#include "cuda/ordering/process.hpp"
#include "cuda/ordering/thread_stamp.hpp"

#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/ordering.hpp>

#include <rmm/cuda_device.hpp>
#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <memory>
#include <utility>

namespace cudf_arrow_bridge {
namespace {

/// Destroys an owner after making the stream that it frees on wait for another stream.
class ordered_owner {
 public:
  ordered_owner(std::shared_ptr<void const> owner, cuda::stream_ref freed, cuda::stream_ref reader)
    : event_{detail::pooled_event::acquire()},
      freed_{freed},
      reader_{reader},
      owner_{std::move(owner)}
  {
  }

  ordered_owner(ordered_owner const&)            = delete;
  ordered_owner& operator=(ordered_owner const&) = delete;

  ~ordered_owner()
  {
    // CUDA does not survive a fork: a child must not use it for memory of its parent.
    if (made_in_.is_of_this_process()) { order(); }
  }

 private:
  void order() noexcept
  {
    // Handles of default streams refer to the current device.
    auto device = 0;
    if (cudaGetDevice(&device) == cudaSuccess && cudaSetDevice(event_.device()) == cudaSuccess) {
      auto const reader = made_on_.named_here(reader_);
      if (event_.order(freed_, reader) != cudaSuccess) { (void)detail::synchronize(reader); }
      (void)cudaSetDevice(device);
    }
    (void)cudaGetLastError();
  }

  detail::process_stamp made_in_;
  detail::thread_stamp made_on_;
  detail::pooled_event event_;
  cuda::stream_ref freed_;
  cuda::stream_ref reader_;
  std::shared_ptr<void const> owner_;
};

}  // namespace

void order_after(cuda::stream_ref later, cuda::stream_ref earlier)
{
  if (!has_gpu()) { return; }
  auto const event = detail::pooled_event::acquire();
  RMM_CUDA_TRY(event.order(later, earlier));
}

std::shared_ptr<void const> release_after(std::shared_ptr<void const> owner,
                                          cuda::stream_ref freed,
                                          cuda::stream_ref reader)
{
  auto const one_stream = freed == reader && freed.get() != cudaStreamPerThread;
  if (one_stream || !has_gpu()) { return owner; }
  return std::make_shared<ordered_owner const>(std::move(owner), freed, reader);
}

}  // namespace cudf_arrow_bridge
