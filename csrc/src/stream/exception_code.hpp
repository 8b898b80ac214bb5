// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/stream.hpp>

#include <cerrno>
#include <exception>
#include <new>
#include <stdexcept>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Reports the exception that is being handled to a C consumer.
 *
 * @param report Called with an `errno` code and a message, which lives as long as the exception
 * @return The result of `report`
 */
template <typename Report>
auto report_exception(Report const& report)
{
  try {
    throw;
  } catch (stream_error const& error) {
    return report(error.code(), error.what());
  } catch (std::bad_alloc const& error) {
    return report(ENOMEM, error.what());
  } catch (std::logic_error const& error) {
    return report(EINVAL, error.what());
  } catch (std::exception const& error) {
    return report(EIO, error.what());
  } catch (...) {
    return report(EIO, "an unknown exception");
  }
}

}  // namespace cudf_arrow_bridge::detail
