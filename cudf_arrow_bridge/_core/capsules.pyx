# SPDX-License-Identifier: Apache-2.0
"""PyCapsules of the Arrow PyCapsule interface.

Capsules are created with an empty struct, which is filled last: a failure in between leaks nothing.
"""

from cpython.pycapsule cimport (
    PyCapsule_GetContext,
    PyCapsule_GetDestructor,
    PyCapsule_GetPointer,
    PyCapsule_IsValid,
    PyCapsule_New,
    PyCapsule_SetContext,
)
from cpython.ref cimport Py_INCREF, Py_XDECREF, PyObject
from libcpp.utility cimport move

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.interpreter cimport ensure_gil_in_release

import ctypes

import pylibcudf.column
import pylibcudf.table

from cudf_arrow_bridge._core.interpreter import add_release_without_gil

cdef const char* SCHEMA = "arrow_schema"
cdef const char* ARRAY = "arrow_array"
cdef const char* DEVICE_ARRAY = "arrow_device_array"
cdef const char* STREAM = "arrow_array_stream"
cdef const char* DEVICE_STREAM = "arrow_device_array_stream"


def _add_releases_of_pylibcudf():
    """Register the release of the arrays of pylibcudf, whose capsules other objects can forward."""
    name = "_Z32PylibcudfArrowDeviceArrayReleaseP10ArrowArray"
    for module in (pylibcudf.column, pylibcudf.table):  # each has its own function of this name
        release = getattr(ctypes.CDLL(module.__file__), name, None)
        if release is not None:
            add_release_without_gil(ctypes.cast(release, ctypes.c_void_p).value)


_add_releases_of_pylibcudf()


cdef void destroy_schema(object capsule) noexcept:
    cdef core.unique_schema* owner = <core.unique_schema*>PyCapsule_GetPointer(capsule, SCHEMA)
    del owner


cdef void destroy_array(object capsule) noexcept:
    cdef core.unique_array* owner = <core.unique_array*>PyCapsule_GetPointer(capsule, ARRAY)
    del owner


cdef void destroy_device_array(object capsule) noexcept:
    cdef core.unique_device_array* owner = (
        <core.unique_device_array*>PyCapsule_GetPointer(capsule, DEVICE_ARRAY)
    )
    del owner


cdef void destroy_stream(object capsule) noexcept:
    cdef core.unique_array_stream* owner = (
        <core.unique_array_stream*>PyCapsule_GetPointer(capsule, STREAM)
    )
    del owner
    Py_XDECREF(<PyObject*>PyCapsule_GetContext(capsule))


cdef void destroy_device_stream(object capsule) noexcept:
    cdef core.unique_device_array_stream* owner = (
        <core.unique_device_array_stream*>PyCapsule_GetPointer(capsule, DEVICE_STREAM)
    )
    del owner
    Py_XDECREF(<PyObject*>PyCapsule_GetContext(capsule))


cdef object schema_to_capsule(core.unique_schema& schema):
    cdef core.unique_schema* target = new core.unique_schema()
    capsule = PyCapsule_New(target, SCHEMA, destroy_schema)
    target[0] = move(schema)
    return capsule


cdef object device_array_to_capsule(core.unique_device_array& array):
    cdef core.unique_device_array* target = new core.unique_device_array()
    capsule = PyCapsule_New(target, DEVICE_ARRAY, destroy_device_array)
    target[0] = move(array)
    return capsule


cdef object array_to_capsule(core.unique_array& array):
    cdef core.unique_array* target = new core.unique_array()
    capsule = PyCapsule_New(target, ARRAY, destroy_array)
    target[0] = move(array)
    return capsule


cdef void attach(object capsule, object state) except *:
    Py_INCREF(state)
    PyCapsule_SetContext(capsule, <void*>state)


cdef object device_stream_to_capsule(core.unique_device_array_stream& stream, object state):
    """Move a stream into a capsule. `stream_state_of` returns `state` for it in this process."""
    cdef core.unique_device_array_stream* target = new core.unique_device_array_stream()
    capsule = PyCapsule_New(target, DEVICE_STREAM, destroy_device_stream)
    attach(capsule, state)
    target[0] = move(stream)
    return capsule


cdef object stream_to_capsule(core.unique_array_stream& stream, object state):
    """Move a stream of host arrays into a capsule. `stream_state_of` returns `state` for it."""
    cdef core.unique_array_stream* target = new core.unique_array_stream()
    capsule = PyCapsule_New(target, STREAM, destroy_stream)
    attach(capsule, state)
    target[0] = move(stream)
    return capsule


cdef object stream_state_of(object capsule):
    """Return the `StreamState` of a stream that this package exported, None for any other."""
    cdef bint is_device = PyCapsule_IsValid(capsule, DEVICE_STREAM)
    if PyCapsule_GetDestructor(capsule) != (destroy_device_stream if is_device else destroy_stream):
        return None
    return <object>PyCapsule_GetContext(capsule)


cdef void* pointer_of(object capsule, const char* name) except NULL:
    if not PyCapsule_IsValid(capsule, name):
        raise ValueError(
            f"expected a PyCapsule named {(<bytes>name).decode()!r}, got {capsule!r}"
        )
    return PyCapsule_GetPointer(capsule, name)


cdef core.ArrowSchema* schema_from_capsule(object capsule) except NULL:
    cdef core.ArrowSchema* schema = <core.ArrowSchema*>pointer_of(capsule, SCHEMA)
    if schema.release == NULL:
        raise ValueError("the schema capsule is already consumed")
    return schema


cdef core.ArrowDeviceArray* device_array_from_capsule(object capsule) except NULL:
    cdef core.ArrowDeviceArray* array = (
        <core.ArrowDeviceArray*>pointer_of(capsule, DEVICE_ARRAY)
    )
    ensure_gil_in_release(&array.array)
    return array


cdef core.ArrowArray* array_from_capsule(object capsule) except NULL:
    return <core.ArrowArray*>pointer_of(capsule, ARRAY)


cdef core.ArrowDeviceArrayStream* device_stream_from_capsule(object capsule) except? NULL:
    """Return NULL for a capsule of a stream of host arrays."""
    if PyCapsule_IsValid(capsule, STREAM):
        return NULL
    return <core.ArrowDeviceArrayStream*>pointer_of(capsule, DEVICE_STREAM)


cdef core.ArrowArrayStream* stream_from_capsule(object capsule) except NULL:
    return <core.ArrowArrayStream*>pointer_of(capsule, STREAM)


cpdef object device_array_capsule_from_array(object capsule):
    """Move a host array out of its capsule into a device array of CPU memory."""
    cdef core.unique_device_array empty
    cdef core.ArrowArray* array = array_from_capsule(capsule)
    result = device_array_to_capsule(empty)
    cdef core.ArrowDeviceArray* target = device_array_from_capsule(result)
    target.array = array[0]
    target.device_type = core.ARROW_DEVICE_CPU
    target.device_id = -1
    array.release = NULL
    return result


cpdef check_keywords(dict keywords: dict[str, Any]):  # type: None
    """Raise for keywords of later versions of the specification whose value is not None."""
    unknown = [name for name, value in keywords.items() if value is not None]
    if unknown:
        raise NotImplementedError(f"unknown keyword arguments: {unknown}")
