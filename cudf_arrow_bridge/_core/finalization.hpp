// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cxxabi.h>
#include <unistd.h>

namespace cudf_arrow_bridge {

/**
 * @brief Calls a function that may acquire the GIL, and suspends the thread forever if it does so
 * during finalization.
 *
 * Python before 3.14 ends such a thread by unwinding its stack, which aborts the process if it
 * reaches a destructor or a callback of C. Later versions of Python suspend the thread.
 */
template <typename Function>
auto call_with_gil(Function const& function) -> decltype(function())
{
  try {
    return function();
  } catch (abi::__forced_unwind const&) {
    for (;;) { ::pause(); }
  }
}

}  // namespace cudf_arrow_bridge
