// SPDX-License-Identifier: Apache-2.0
#include "sim/counters.hpp"

#include "sim/detail/machine.hpp"

#include <utility>

namespace sim {

using detail::locked;

std::size_t calls(std::string_view function)
{
  return locked([&](auto& all) {
    auto const found = all.calls.find(function);
    return found == all.calls.end() ? std::size_t{0} : found->second;
  });
}

std::size_t host_syncs_here() { return detail::host_syncs_of_thread(); }

std::size_t pinned_bytes()
{
  return locked([](auto& all) { return all.pinned_bytes; });
}

std::size_t live_events()
{
  return locked([](auto& all) { return all.events.size(); });
}

std::size_t live_allocations()
{
  return locked([](auto& all) { return all.memory.num_live(); });
}

std::optional<unsigned int> event_flags(cudaEvent_t event)
{
  return locked([&](auto& all) {
    auto const* found = all.events.find(event);
    return found == nullptr ? std::nullopt : std::optional{found->flags};
  });
}

std::vector<std::string> take_violations()
{
  return locked([](auto& all) {
    auto result           = std::exchange(all.violations, {});
    auto const exceptions = all.work.take_exceptions();
    result.insert(result.end(), exceptions.begin(), exceptions.end());
    return result;
  });
}

}  // namespace sim
