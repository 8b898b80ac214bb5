// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// @return How often this thread has called `operator new` so far
std::uint64_t allocations() noexcept;
