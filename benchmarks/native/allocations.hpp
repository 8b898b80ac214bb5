// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// @return The number of calls of `operator new` by this thread
std::uint64_t allocations() noexcept;
