# SPDX-License-Identifier: Apache-2.0
"""PyCapsules of the Arrow PyCapsule interface."""

from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid
from cpython.ref cimport PyObject

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.interpreter cimport ensure_gil_in_release

import ctypes

import pylibcudf.column
import pylibcudf.table

from cudf_arrow_bridge._core.interpreter import add_release_without_gil


cdef extern from "interpreter.hpp" namespace "cudf_arrow_bridge":
    object to_capsule[Owner](Owner&, const char*, PyObject*) except +
    PyObject* attached_object[Owner](object) noexcept


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


cdef object schema_to_capsule(core.unique_schema& schema):
    return to_capsule[core.unique_schema](schema, SCHEMA, NULL)


cdef object device_array_to_capsule(core.unique_device_array& array):
    return to_capsule[core.unique_device_array](array, DEVICE_ARRAY, NULL)


cdef object array_to_capsule(core.unique_array& array):
    return to_capsule[core.unique_array](array, ARRAY, NULL)


cdef object device_stream_to_capsule(core.unique_device_array_stream& stream, object state):
    """Move a stream into a capsule. `stream_state_of` returns `state` for it in this process."""
    return to_capsule[core.unique_device_array_stream](
        stream, DEVICE_STREAM, <PyObject*>state
    )


cdef object stream_to_capsule(core.unique_array_stream& stream, object state):
    """Move a stream of host arrays into a capsule. `stream_state_of` returns `state` for it."""
    return to_capsule[core.unique_array_stream](stream, STREAM, <PyObject*>state)


cdef object stream_state_of(object capsule):
    """Return the `StreamState` of a stream that this package exported, None for any other."""
    cdef PyObject* state = attached_object[core.unique_device_array_stream](capsule)
    if state == NULL:
        state = attached_object[core.unique_array_stream](capsule)
    return None if state == NULL else <object>state


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
    cdef core.ArrowArray* array = <core.ArrowArray*>pointer_of(capsule, ARRAY)
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
