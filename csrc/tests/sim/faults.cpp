// SPDX-License-Identifier: Apache-2.0
#include "sim/faults.hpp"

#include "sim/detail/machine.hpp"

#include <utility>

namespace sim {

void fail_next(std::string_view function, cudaError_t error, int after)
{
  detail::locked([&](auto& all) { all.faults.add(function, error, after); });
}

void delay_next(std::string_view function, std::function<void()> action)
{
  detail::locked([&](auto& all) { all.faults.add_delay(function, std::move(action)); });
}

void fail_all(cudaError_t error)
{
  detail::locked([&](auto& all) { all.faults.set_sticky(error); });
}

void set_driver_version(int version)
{
  detail::locked([&](auto& all) { all.driver_version = version; });
}

}  // namespace sim
