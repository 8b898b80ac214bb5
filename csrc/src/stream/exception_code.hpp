// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/stream.hpp>

#include <cerrno>
#include <exception>
#include <new>
#include <stdexcept>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Tells consumers in C of the exception that is being handled.
 *
 * @param tell Called with an `errno` code and a message, which lives as long as the exception
 * @return What `tell` returns
 */
template <typename Tell>
auto tell_exception(Tell const& tell)
{
  try {
    throw;
  } catch (stream_error const& error) {
    return tell(error.code(), error.what());
  } catch (std::bad_alloc const& error) {
    return tell(ENOMEM, error.what());
  } catch (std::logic_error const& error) {
    return tell(EINVAL, error.what());
  } catch (std::exception const& error) {
    return tell(EIO, error.what());
  } catch (...) {
    return tell(EIO, "an unknown exception");
  }
}

}  // namespace cudf_arrow_bridge::detail
