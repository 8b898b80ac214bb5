// SPDX-License-Identifier: Apache-2.0
/// @file
/// Results that the simulated stream computes later, when their operation runs.
#pragma once

#include "compute/buffers.hpp"
#include "sim/kernels.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>

namespace sim {

using cudf_arrow_bridge::detail::execution;

/// Execution on the CPU, for the host's implementations.
inline execution on_host(cuda::stream_ref stream)
{ return {true, stream, cudf_arrow_bridge::host_memory_resource()}; }

/**
 * @brief Allocates a result and enqueues the operation that fills it.
 *
 * @param size Bytes of the result; bytes that `convert` doesn't fill become 0
 * @param exec Stream and memory resource of the result
 * @param convert Makes the same result in host memory
 */
template <typename Convert>
rmm::device_buffer fill_later(std::size_t size, execution const& exec, Convert convert)
{
  auto result = rmm::device_buffer{size, exec.stream, exec.mr};
  enqueue(exec.stream.get(), [target = result.data(), size, stream = exec.stream, convert] {
    auto const made = convert(on_host(stream));
    auto const part = std::min(size, made.size());
    if (part > 0) { std::memcpy(target, made.data(), part); }
    if (size > part) { std::memset(static_cast<std::byte*>(target) + part, 0, size - part); }
  });
  return result;
}

/// Computes a result of unknown size on the stream and waits for it. The host's implementation
/// rejects wrong contents of buffers, but a kernel reads out of bounds: this throws
/// `std::out_of_range`.
template <typename Convert>
auto wait_for(execution const& exec, Convert convert)
{
  auto made  = std::optional<decltype(convert(exec))>{};
  auto error = std::exception_ptr{};
  enqueue(exec.stream.get(), [&, stream = exec.stream] {
    try {
      made.emplace(convert(on_host(stream)));
    } catch (std::invalid_argument const& contents) {
      error = std::make_exception_ptr(
        std::out_of_range{std::string{"a kernel reads out of bounds: "} + contents.what()});
    } catch (...) {
      error = std::current_exception();
    }
  });
  RMM_CUDA_TRY(cudaStreamSynchronize(exec.stream.get()));
  if (error) { std::rethrow_exception(error); }
  return std::move(*made);
}

}  // namespace sim
