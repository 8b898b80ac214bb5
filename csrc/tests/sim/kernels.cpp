// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels.hpp"

#include "sim/detail/machine.hpp"

#include <stdexcept>
#include <string>

namespace sim {
namespace {

void set_held(cudaStream_t stream, bool held)
{
  detail::locked([&](auto& all) {
    auto* found = all.find_stream(stream);
    if (found == nullptr) { throw std::invalid_argument{"no such stream"}; }
    all.work.hold(*found, held);
  });
}

}  // namespace

void enqueue(cudaStream_t stream, std::function<void()> kernel)
{
  auto const status = detail::call("sim::enqueue", [&](auto& all, auto& lock) {
    auto* found = all.find_stream(stream);
    if (found == nullptr || found->device != detail::current_device()) {
      return cudaErrorInvalidResourceHandle;
    }
    if (auto const error = all.check_enqueue(*found); error != cudaSuccess) { return error; }
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

stream_capture::stream_capture(cudaStream_t stream) : stream_{stream}
{
  auto const status = cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  if (status != cudaSuccess) {
    throw std::runtime_error{std::string{"a capture was refused: "} + cudaGetErrorName(status)};
  }
}

std::optional<std::size_t> stream_capture::end()
{
  auto graph = cudaGraph_t{};
  auto count = std::size_t{0};
  if (cudaStreamEndCapture(stream_, &graph) != cudaSuccess) {
    (void)cudaGetLastError();
    return std::nullopt;
  }
  (void)cudaGraphGetNodes(graph, nullptr, &count);
  return count;
}

}  // namespace sim
