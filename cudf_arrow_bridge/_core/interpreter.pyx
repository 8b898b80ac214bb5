# SPDX-License-Identifier: Apache-2.0
"""Python objects that C++ owns, and their release during interpreter shutdown.

Other modules cimport these functions, since their state must exist only once in the process.
"""

import atexit

from cpython.ref cimport PyObject
from libc.stdint cimport uintptr_t
from libcpp.memory cimport shared_ptr
from libcpp.utility cimport move

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core


cdef extern from "interpreter.hpp" namespace "cudf_arrow_bridge" nogil:
    shared_ptr[const void] share_python_object(PyObject*) except +
    void release_with_gil(core.ArrowArray&) except +

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
    """Share ownership of an object with C++, which can drop its reference on any thread."""
    return share_python_object(<PyObject*>shared)


cpdef bint enter_interpreter() noexcept nogil:
    """Delay interpreter shutdown until `leave_interpreter`. Return False if it has started."""
    return interpreter_gate.enter()


cpdef void leave_interpreter() noexcept nogil:
    interpreter_gate.leave()


cdef void drop_share(shared_ptr[const void]& owner) noexcept:
    """Drop a reference to the memory of a producer, whose release can take time and the GIL.

    After interpreter shutdown, only the thread that shut it down releases the memory. Other threads
    leak it, since the process could exit during the release.
    """
    cdef bint entered = interpreter_gate.enter()
    if entered or interpreter_gate.closed_here():
        with nogil:
            owner.reset()
    else:
        new shared_ptr[const void](move(owner))
    if entered:
        interpreter_gate.leave()


#: The addresses of release callbacks that require the GIL but do not acquire it.
cdef set releases_without_gil = set()


def add_release_without_gil(uintptr_t address) -> None:
    """Register a release callback that requires the GIL but does not acquire it."""
    releases_without_gil.add(address)


cdef int ensure_gil_in_release(core.ArrowArray* array) except -1:
    """Make the release of an array acquire the GIL if it is registered as one that requires it."""
    if <uintptr_t>array.release in releases_without_gil:
        release_with_gil(array[0])
    return 0


def drain_releases(nbytes: int | None = None) -> bool:
    """Wait until the producers of all deleted imports are released.

    On a GPU, a producer is released after the work that reads its memory. Memory can therefore be
    in use although no object references it. Wait at most 30 seconds, without holding the GIL.

    Parameters
    ----------
    nbytes
        Not used. It allows use as a callback of `rmm.mr.FailureCallbackResourceAdaptor`, which then
        retries a failed allocation.

    Returns
    -------
    bool
        Whether a producer was released since the last call. False without a GPU, where producers
        are released immediately.

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
        # Sources, consumers and producers written in Python can still take the GIL now.
        core.stop_async()
        core.drain_releases()
        interpreter_gate.close()


atexit.register(_shut_down)
