// SPDX-License-Identifier: Apache-2.0
/// @file
/// The one place where C++ holds Python objects.
#pragma once

#include <Python.h>

#include <atomic>
#include <memory>

namespace cudf_arrow_bridge {

/// Set when the interpreter begins to go: from then on no thread may ask for the GIL.
inline std::atomic<bool> interpreter_is_going{false};

/**
 * @brief Shares ownership of a Python object with C++.
 *
 * The last share may go on any thread, with or without the GIL. Once the interpreter is going the
 * reference is leaked instead: the process is about to end, and waiting for the GIL could hang it.
 *
 * @param object Borrowed; the caller holds the GIL
 */
inline std::shared_ptr<void const> share_python_object(PyObject* object)
{
  Py_INCREF(object);  // given back by the deleter, also where the next line throws
  return std::shared_ptr<void const>{object, [](void const* held) {
                                       if (interpreter_is_going.load(std::memory_order_acquire)) {
                                         return;
                                       }
                                       auto const state = PyGILState_Ensure();
                                       Py_DECREF(static_cast<PyObject*>(const_cast<void*>(held)));
                                       PyGILState_Release(state);
                                     }};
}

}  // namespace cudf_arrow_bridge
