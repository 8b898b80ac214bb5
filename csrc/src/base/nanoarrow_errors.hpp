// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoarrow/nanoarrow.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <string>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Throws what a call of nanoarrow's builders ends with.
 *
 * They fail only where memory does, or for what the caller had to rule out.
 *
 * @throws std::bad_alloc where memory ran out
 * @throws std::invalid_argument for anything else
 *
 * @param code What the call returned
 * @param what What was to be built, for the message
 */
inline void check_nanoarrow(ArrowErrorCode code, char const* what)
{
  if (code == NANOARROW_OK) { return; }
  if (code == ENOMEM) { throw std::bad_alloc{}; }
  throw std::invalid_argument{std::string{"nanoarrow refused "} + what};
}

}  // namespace cudf_arrow_bridge::detail
