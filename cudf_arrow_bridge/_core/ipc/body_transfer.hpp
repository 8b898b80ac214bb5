// SPDX-License-Identifier: Apache-2.0
/// @file
/// Helper functions of body_transfer.pyx.
#pragma once

#include <cudf_arrow_bridge/ipc.hpp>

#include <rmm/device_buffer.hpp>

#include <Python.h>

#include <cerrno>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace cudf_arrow_bridge {

/// Ends a call of the core for which a Python error is already set.
struct python_error : std::exception {};

/// Checks for Python signals, with a function that returns 0 unless a handler has raised.
inline signal_function signals_by(int (*check)())
{
  return [check] {
    if (check() != 0) { throw python_error{}; }
  };
}

/// Raises `OSError` with the errno of a `std::system_error`, which pylibcudf's translator does not
/// support; otherwise calls that translator.
inline void file_exception_handler()
{
  try {
    throw;
  } catch (python_error const&) {  // NOLINT(bugprone-empty-catch): it is set
  } catch (std::system_error const& error) {
    errno = error.code().value();
    PyErr_SetFromErrno(PyExc_OSError);
  } catch (std::bad_alloc const& error) {
    PyErr_SetString(PyExc_MemoryError, error.what());
  } catch (std::invalid_argument const& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (std::exception const& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

/// Finishes an upload and returns its device memory.
inline std::shared_ptr<rmm::device_buffer> finish_upload(body_upload& upload)
{ return std::make_shared<rmm::device_buffer>(upload.finish()); }

}  // namespace cudf_arrow_bridge
