# SPDX-License-Identifier: Apache-2.0
"""Python objects that C++ owns, and what becomes of them when the interpreter goes.

Other modules come here for it: the state behind it must be one in the process.
"""

import atexit

from cpython.ref cimport PyObject
from libcpp.memory cimport shared_ptr
from libcpp.utility cimport move

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core


cdef extern from "interpreter.hpp" namespace "cudf_arrow_bridge" nogil:
    shared_ptr[const void] share_python_object(PyObject*) except +

    cdef cppclass interpreter_gate:
        @staticmethod
        bint enter() noexcept
        @staticmethod
        void leave() noexcept
        @staticmethod
        void close() noexcept
        @staticmethod
        bint closed_here() noexcept


cdef shared_ptr[const void] share_object(object shared) except *:
    """Share ownership of an object with C++, which may drop it on any thread."""
    return share_python_object(<PyObject*>shared)


cdef bint enter_interpreter() noexcept nogil:
    """Keep the interpreter from going until `leave_interpreter`; False if it is going."""
    return interpreter_gate.enter()


cdef void leave_interpreter() noexcept nogil:
    interpreter_gate.leave()


cdef void drop_share(shared_ptr[const void]& owner) noexcept:
    """Drop a share of what a producer is to release, which may take time, or the GIL.

    On a thread that the interpreter has left behind it is leaked: that may end at any moment.
    """
    cdef bint entered = interpreter_gate.enter()
    if entered or interpreter_gate.closed_here():
        with nogil:
            owner.reset()
    else:
        new shared_ptr[const void](move(owner))
    if entered:
        interpreter_gate.leave()


def _interpreter_is_going():
    with nogil:
        # While releases can still take the GIL, for producers written in Python.
        core.drain_releases()
        interpreter_gate.close()


atexit.register(_interpreter_is_going)
