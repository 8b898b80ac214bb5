// SPDX-License-Identifier: Apache-2.0
#include "sim/faults.hpp"

#include "sim/detail/machine.hpp"

namespace sim {

void fail_next(std::string_view function, cudaError_t error, int after)
{
  auto& all       = detail::machine::instance();
  auto const lock = std::unique_lock{all.mutex};
  all.faults.add(function, error, after);
}

void fail_all(cudaError_t error)
{
  auto& all       = detail::machine::instance();
  auto const lock = std::unique_lock{all.mutex};
  all.faults.set_sticky(error);
}

void set_driver_version(int version)
{
  auto& all          = detail::machine::instance();
  auto const lock    = std::unique_lock{all.mutex};
  all.driver_version = version;
}

}  // namespace sim
