// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels.hpp"

#include "sim/detail/machine.hpp"

#include <stdexcept>
#include <string>

namespace sim {
namespace {

void set_held(cudaStream_t stream, bool held)
{
  auto& all       = detail::machine::instance();
  auto const lock = std::unique_lock{all.mutex};
  auto* found     = all.find_stream(stream);
  if (found == nullptr) { throw std::invalid_argument{"no such stream"}; }
  all.work.hold(*found, held);
}

}  // namespace

void enqueue(cudaStream_t stream, std::function<void()> kernel)
{
  auto const status = detail::call("sim::enqueue", [&](auto& all, auto& lock) {
    auto* found = all.find_stream(stream);
    if (found == nullptr || found->device != detail::current_device()) {
      return cudaErrorInvalidResourceHandle;
    }
    all.work.enqueue(*found, std::move(kernel));
    all.work.advance(lock);
    return cudaSuccess;
  });
  if (status != cudaSuccess) {
    throw std::runtime_error{std::string{"a kernel was refused: "} + cudaGetErrorName(status)};
  }
}

void hold(cudaStream_t stream) { set_held(stream, true); }

void release(cudaStream_t stream) { set_held(stream, false); }

}  // namespace sim
