// SPDX-License-Identifier: Apache-2.0
#include "sim/world.hpp"

#include "sim/detail/machine.hpp"

namespace sim {

using detail::machine;

void reset(std::uint64_t seed, int devices)
{
  auto& all = machine::instance();
  auto lock = std::unique_lock{all.mutex};
  for (auto const& stream : all.work.streams().all()) {
    all.work.hold(*stream, false);
    stream->captured_by = nullptr;
  }
  all.work.drain(lock);
  detail::scheduler::join(lock, all.work.streams().take_all());
  all.events.forget_records();
  all.memory.clear();
  all.faults           = {};
  all.num_devices      = devices;
  all.reaches_pageable = -1;
  all.driver_version   = CUDART_VERSION;
  all.calls.clear();
  all.graphs.clear();
  all.work.restart(seed);
  detail::current_device() = 0;
  detail::capture_mode()   = cudaStreamCaptureModeGlobal;
  detail::last_error()     = cudaSuccess;
}

void drain()
{
  auto& all = machine::instance();
  auto lock = std::unique_lock{all.mutex};
  all.work.drain(lock);
}

std::string leftovers()
{
  auto& all       = machine::instance();
  auto const lock = std::unique_lock{all.mutex};
  auto result     = all.memory.describe_live();
  for (auto const& stream : all.work.streams().all()) {
    auto const name = "stream " + std::to_string(stream->number);
    if (!stream->queue.empty()) {
      result += name + " with " + std::to_string(stream->queue.size()) + " operations to run\n";
    }
  }
  if (auto const count = all.work.streams().num_created(); count > 0) {
    result += std::to_string(count) + " streams not destroyed\n";
  }
  return result;
}

}  // namespace sim
