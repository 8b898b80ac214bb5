// SPDX-License-Identifier: Apache-2.0
#include "sim/detail/machine.hpp"

#include <cuda_runtime_api.h>

#include <cstring>

using sim::memory_kind;
using sim::detail::call;
using sim::detail::machine;

namespace {

/// Source or target of a copy. Memory that the simulation did not allocate is pageable.
struct operand {
  memory_kind kind{memory_kind::pageable};
  int device{cudaInvalidDeviceId};
  bool in_bounds{true};
  bool pooled{false};

  operand(machine const& all, void const* address, std::size_t size)
  {
    auto const* block = all.memory.find(address);
    if (block == nullptr) { return; }
    auto const begin =
      static_cast<std::size_t>(static_cast<std::byte const*>(address) - block->data);
    kind      = block->kind;
    device    = block->device;
    in_bounds = size <= block->size - begin;
    pooled    = block->pooled;
  }

  [[nodiscard]] bool on_device() const { return kind != memory_kind::pageable; }

  [[nodiscard]] bool on_host() const { return kind != memory_kind::device; }

  /// Whether the streams of a device cannot access it: peer access does not include pools.
  [[nodiscard]] bool is_unreachable_from(int other) const
  { return kind == memory_kind::device && pooled && device != other; }
};

bool allows(cudaMemcpyKind kind, operand const& target, operand const& source)
{
  switch (kind) {
    case cudaMemcpyHostToHost: return target.on_host() && source.on_host();
    case cudaMemcpyHostToDevice: return target.on_device() && source.on_host();
    case cudaMemcpyDeviceToHost: return target.on_host() && source.on_device();
    case cudaMemcpyDeviceToDevice: return target.on_device() && source.on_device();
    default: return true;
  }
}

/// Whether the call waits for the copy. Where CUDA allows both, the seed decides.
bool waits(machine& all, operand const& target, operand const& source)
{
  auto const is_host = [](operand const& o) {
    return o.kind == memory_kind::pageable || o.kind == memory_kind::pinned;
  };
  auto const is_pageable = [](operand const& o) { return o.kind == memory_kind::pageable; };
  auto const must        = is_host(target) && is_host(source);
  auto const may         = must || is_pageable(target) || is_pageable(source);
  if (may) { all.count_host_sync(); }
  return must || (may && all.work.random().draw(2) == 0);
}

auto copying(void* target,
             void const* source,
             std::size_t size,
             cudaMemcpyKind kind,
             cudaStream_t on,
             bool is_peer = false)
{
  return [=](auto& all, auto& lock) {
    auto* stream    = all.find_stream(on);
    auto const to   = operand{all, target, size};
    auto const from = operand{all, source, size};
    if (stream == nullptr) { return cudaErrorInvalidResourceHandle; }
    if (auto const status = all.check_enqueue(*stream); status != cudaSuccess) { return status; }
    if (size == 0) { return cudaSuccess; }
    if (!to.in_bounds || !from.in_bounds) { return cudaErrorInvalidValue; }
    if (!allows(kind, to, from)) { return cudaErrorInvalidMemcpyDirection; }
    if (!is_peer &&
        (to.is_unreachable_from(stream->device) || from.is_unreachable_from(stream->device))) {
      return cudaErrorInvalidValue;
    }
    auto const copy = all.work.enqueue(*stream, [=] { std::memmove(target, source, size); });
    if (waits(all, to, from)) {
      all.work.wait(lock, copy);
    } else {
      all.work.advance(lock);
    }
    return cudaSuccess;
  };
}

}  // namespace

cudaError_t cudaMemcpyAsync(
  void* target, void const* source, std::size_t size, cudaMemcpyKind kind, cudaStream_t stream)
{ return call(__func__, copying(target, source, size, kind, stream)); }

cudaError_t cudaMemcpyPeerAsync(void* target,
                                int target_device,
                                void const* source,
                                int source_device,
                                std::size_t size,
                                cudaStream_t stream)
{
  return call(__func__, [&](auto& all, auto& lock) {
    for (auto const device : {target_device, source_device}) {
      if (device < 0 || device >= all.num_devices) { return cudaErrorInvalidDevice; }
    }
    if (operand{all, target, size}.device != target_device ||
        operand{all, source, size}.device != source_device) {
      return cudaErrorInvalidValue;
    }
    return copying(target, source, size, cudaMemcpyDeviceToDevice, stream, true)(all, lock);
  });
}

cudaError_t cudaMemsetAsync(void* target, int value, std::size_t size, cudaStream_t stream)
{
  return call(__func__, [&](auto& all, auto& lock) {
    auto* state   = all.find_stream(stream);
    auto const to = operand{all, target, size};
    if (state == nullptr || state->device != sim::detail::current_device()) {
      return cudaErrorInvalidResourceHandle;
    }
    if (auto const status = all.check_enqueue(*state); status != cudaSuccess) { return status; }
    if (size == 0) { return cudaSuccess; }
    if (!to.in_bounds || !to.on_device()) { return cudaErrorInvalidValue; }
    all.work.enqueue(*state, [=] { std::memset(target, value, size); });
    all.work.advance(lock);
    return cudaSuccess;
  });
}
