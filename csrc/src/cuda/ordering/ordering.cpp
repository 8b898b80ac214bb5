// SPDX-License-Identifier: Apache-2.0
#include "cuda/ordering/events.hpp"
#include "cuda/ordering/order_at_end.hpp"

#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/ordering.hpp>

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <memory>
#include <utility>

namespace cudf_arrow_bridge {
namespace {

/// Destroys an owner after making the stream that it frees on wait for another stream.
struct ordered_owner {
  ordered_owner(std::shared_ptr<void const> source, cuda::stream_ref freed, cuda::stream_ref reader)
    : owner{std::move(source)}, order{freed, reader}
  {
  }

  std::shared_ptr<void const> owner;
  detail::order_at_end order;  ///< goes first
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
