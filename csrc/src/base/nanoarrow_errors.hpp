// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoarrow/nanoarrow.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <string>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Throws if a call of nanoarrow's builders returned an error.
 *
 * They fail only if memory runs out or for arguments that the caller should have rejected.
 *
 * @throws std::bad_alloc for ENOMEM
 * @throws std::invalid_argument for any other error
 *
 * @param code What the call returned
 * @param what What the call was to build, for the message
 */
inline void check_nanoarrow(ArrowErrorCode code, char const* what)
{
  if (code == NANOARROW_OK) { return; }
  if (code == ENOMEM) { throw std::bad_alloc{}; }
  throw std::invalid_argument{std::string{"nanoarrow refused "} + what};
}

}  // namespace cudf_arrow_bridge::detail
