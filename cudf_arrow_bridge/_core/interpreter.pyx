# SPDX-License-Identifier: Apache-2.0
"""Python objects that C++ owns, and their release while the interpreter shuts down.

The state behind it must exist once in the process, so that other modules cimport it from here.
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
    """Keep the interpreter from shutting down until `leave_interpreter`; False if it already is."""
    return interpreter_gate.enter()


cdef void leave_interpreter() noexcept nogil:
    interpreter_gate.leave()


cdef void drop_share(shared_ptr[const void]& owner) noexcept:
    """Drop a share of a producer's memory, whose release may take time and the GIL.

    Once the interpreter has shut down, only the thread that did that releases the memory. Other
    threads leak it, as the process may end in the middle of a release.
    """
    cdef bint entered = interpreter_gate.enter()
    if entered or interpreter_gate.closed_here():
        with nogil:
            owner.reset()
    else:
        new shared_ptr[const void](move(owner))
    if entered:
        interpreter_gate.leave()


def drain_releases(nbytes=None) -> bool:
    """Wait until the producers of all imports that were let go of so far are released.

    On a GPU, a producer is released once the work that reads its memory is done, so that memory may
    be in use though no object refers to it any more. Waits 30 seconds at most, without the GIL.

    Parameters
    ----------
    nbytes
        Not used. With it this is a callback for `rmm.mr.FailureCallbackResourceAdaptor`, by which
        an allocation that fails is tried again.

    Returns
    -------
    bool
        Whether a producer was released since the last call. False without a GPU, where producers
        are released at once.

    Examples
    --------
    >>> cab.drain_releases()
    False
    """
    cdef bint released
    with nogil:
        released = core.drain_releases()
    return released


def _shut_down():
    with nogil:
        # Now, while sources, consumers and producers written in Python can still take the GIL.
        core.stop_async()
        core.drain_releases()
        interpreter_gate.close()


atexit.register(_shut_down)
