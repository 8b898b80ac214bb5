// SPDX-License-Identifier: Apache-2.0
/// @file
/// librmm contains its own CUDA runtime, which finds no driver. This file defines the functions
/// through which `device_buffer` uses it. The linker prefers these definitions to those of librmm.
#include "sim/detail/machine.hpp"

#include <rmm/cuda_device.hpp>
#include <rmm/detail/error.hpp>

#include <cuda/stream>
#include <cuda_runtime_api.h>

namespace {

/// Sets the device without counting a call, since tests count the calls of the core only.
void set_device(rmm::cuda_device_id device) { sim::detail::current_device() = device.value(); }

}  // namespace

RMM_NAMESPACE_BEGIN

cuda_device_id get_current_cuda_device() { return cuda_device_id{sim::detail::current_device()}; }

cuda_set_device_raii::cuda_set_device_raii(cuda_device_id device)
  : old_device_{get_current_cuda_device()},
    needs_reset_{device.value() >= 0 && old_device_ != device}
{
  if (needs_reset_) { set_device(device); }
}

cuda_set_device_raii::~cuda_set_device_raii() noexcept
{
  if (needs_reset_) { set_device(old_device_); }
}

namespace detail {

// Declared here, because RAPIDS 26.08 does not have the header <rmm/detail/cuda_memcpy.hpp>.
RMM_EXPORT cudaError_t memcpy_async(void*, void const*, std::size_t, cuda::stream_ref);

cudaError_t memcpy_async(void* target,
                         void const* source,
                         std::size_t size,
                         cuda::stream_ref stream)
{ return cudaMemcpyAsync(target, source, size, cudaMemcpyDefault, stream.get()); }

}  // namespace detail

RMM_NAMESPACE_END
