# SPDX-License-Identifier: Apache-2.0
"""Conversion of streams, memory resources and copy policies to C++, and detection of the GPU."""

from cpython.ref cimport PyObject
from cuda.bindings.cyruntime cimport cudaStream_t
from libc.stdint cimport int64_t, uintptr_t
from libcpp.memory cimport make_shared, shared_ptr
from libcpp.vector cimport vector
from rmm.librmm.memory_resource cimport device_async_resource_ref
from rmm.pylibrmm.memory_resource cimport DeviceMemoryResource, get_current_device_resource

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core

cdef extern from "Python.h":
    void PyObject_GC_UnTrack(PyObject*)


def has_gpu() -> bool:
    """Return whether this process can use a CUDA device.

    Return False if no driver is installed or there is no device. Raise RuntimeError for any other
    CUDA error, and for a missing GPU if the environment variable CUDF_ARROW_BRIDGE_REQUIRE_GPU is
    set to anything but "0".
    """
    return core.has_gpu()


def current_device() -> int:
    """Return the current device, or -1 without a GPU."""
    cdef int device = -1
    with nogil:
        if core.has_gpu():
            device = core.get_current_cuda_device().value()
    return device


def enter_thread(int device) -> None:
    """Prepare a new thread of this package for work on a device, or -1 without a GPU.

    Calls of this thread then do not invalidate the captures of other threads.
    """
    with nogil:
        core.enter_thread(core.cuda_device_id(device))


cdef object resolve_resource(object mr):
    """Return `mr`, or for None rmm's current resource, or without a GPU None for host memory.

    The caller must keep the result alive while its memory is in use.
    """
    if mr is None and core.has_gpu():
        return get_current_device_resource()
    return mr


cdef int check_resource(object mr) except -1:
    """Raise TypeError if the argument ``mr=`` is neither None nor a memory resource."""
    if mr is not None and not isinstance(mr, DeviceMemoryResource):
        raise TypeError(
            "mr: expected an rmm.mr.DeviceMemoryResource, or None for the current resource of rmm, "
            f"got an object of type {type(mr).__name__}"
        )
    return 0


cdef device_async_resource_ref resource_of(object resolved) except *:
    """Return the C++ reference to a result of `resolve_resource`."""
    if resolved is None:
        return core.host_memory_resource()
    check_resource(resolved)
    return (<DeviceMemoryResource>resolved).get_mr()


def order_after(uintptr_t later, uintptr_t earlier, int device=-1) -> None:
    """Make future work on the stream `later` wait for the work that is on `earlier` now.

    The arguments are handles of streams of a device; -1 is the current device. The host does not
    wait.
    """
    cdef core.stream_ref c_later = core.stream_ref(<cudaStream_t>later)
    cdef core.stream_ref c_earlier = core.stream_ref(<cudaStream_t>earlier)
    with nogil:
        core.order_after(c_later, c_earlier, core.cuda_device_id(device))


cpdef void hide_from_collector(object obj) noexcept:
    """Hide an object and its references from the garbage collector.

    The collector then takes the objects that it references to be in use.
    """
    PyObject_GC_UnTrack(<PyObject*>obj)


cdef core.stream_ref stream_of(object stream) except *:
    """Return the C++ reference to a `Stream` on this thread. None is the default stream."""
    handle = 0 if stream is None else stream.handle
    return core.stream_ref(<cudaStream_t><uintptr_t>handle)


cdef core.copy_policy policy_of(object copy) except *:
    """Convert the argument ``copy=`` to the C++ copy policy."""
    if copy is None:
        return core.copy_policy.as_needed
    if copy is False:
        return core.copy_policy.never
    if copy is True:
        return core.copy_policy.always
    raise ValueError(f"copy: expected None, False or True, got {copy!r}")


cdef str text_of(core.string_view text):
    return text.data()[:text.size()].decode()


cdef list to_tuples(const vector[core.imported_column]& columns):
    """List the address, size and reason of each piece of memory that an import allocated."""
    return [
        (
            <uintptr_t>columns[i].copied[j].address,
            columns[i].copied[j].size,
            text_of(columns[i].copied[j].reason),
        )
        for i in range(columns.size())
        for j in range(columns[i].copied.size())
    ]


#: All reasons as bytes. They are never freed, since C++ stores views of them. There are only a few.
cdef dict reasons = {}


cdef shared_ptr[vector[core.copied_buffer]] from_tuples(tuple copied):
    """Convert the result of `to_tuples` back to C++."""
    cdef shared_ptr[vector[core.copied_buffer]] result = make_shared[vector[core.copied_buffer]]()
    cdef core.copied_buffer memory
    cdef bytes text
    cdef uintptr_t address
    for address, size, reason in copied:
        text = reasons.setdefault(reason, reason.encode())
        memory.address = <const void*>address
        memory.size = <int64_t>size
        memory.reason = core.string_view(<const char*>text, <size_t>len(text))
        result.get().push_back(memory)
    return result
