# SPDX-License-Identifier: Apache-2.0
"""PyCapsules of the Arrow PyCapsule interface: their names, making and taking them.

A capsule is made around an empty struct and filled last, so that a failure halfway leaks nothing.
"""

from cpython.pycapsule cimport (
    PyCapsule_GetPointer,
    PyCapsule_IsValid,
    PyCapsule_New,
)
from libc.stdlib cimport calloc, free

from cudf_arrow_bridge._core cimport (
    ARROW_DEVICE_CPU,
    ArrowArray,
    ArrowDeviceArray,
    ArrowSchema,
    unique_device_array,
    unique_schema,
)


cdef const char* SCHEMA = "arrow_schema"
cdef const char* ARRAY = "arrow_array"
cdef const char* DEVICE_ARRAY = "arrow_device_array"


cdef void destroy_schema(object capsule) noexcept:
    cdef ArrowSchema* schema = <ArrowSchema*>PyCapsule_GetPointer(capsule, SCHEMA)
    if schema.release != NULL:
        schema.release(schema)
    free(schema)


cdef void destroy_array(object capsule) noexcept:
    cdef ArrowArray* array = <ArrowArray*>PyCapsule_GetPointer(capsule, ARRAY)
    if array.release != NULL:
        array.release(array)
    free(array)


cdef void destroy_device_array(object capsule) noexcept:
    cdef ArrowDeviceArray* array = (
        <ArrowDeviceArray*>PyCapsule_GetPointer(capsule, DEVICE_ARRAY)
    )
    if array.array.release != NULL:
        array.array.release(&array.array)
    free(array)


cdef void* allocate(size_t size) except NULL:
    cdef void* memory = calloc(1, size)
    if memory == NULL:
        raise MemoryError
    return memory


cdef object schema_to_capsule(unique_schema& schema):
    cdef ArrowSchema* target = <ArrowSchema*>allocate(sizeof(ArrowSchema))
    capsule = PyCapsule_New(target, SCHEMA, destroy_schema)
    schema.move_to(target)
    return capsule


cdef object device_array_to_capsule(unique_device_array& array):
    cdef ArrowDeviceArray* target = <ArrowDeviceArray*>allocate(sizeof(ArrowDeviceArray))
    capsule = PyCapsule_New(target, DEVICE_ARRAY, destroy_device_array)
    array.move_to(target)
    return capsule


cdef object array_to_capsule(unique_device_array& array):
    """Keep the plain array of a device array in host-accessible memory."""
    cdef ArrowArray* target = <ArrowArray*>allocate(sizeof(ArrowArray))
    capsule = PyCapsule_New(target, ARRAY, destroy_array)
    target[0] = array.get().array
    array.get().array.release = NULL
    return capsule


cdef void* pointer_of(object capsule, const char* name) except NULL:
    if not PyCapsule_IsValid(capsule, name):
        raise ValueError(
            f"{capsule!r} found, a PyCapsule named {(<bytes>name).decode()!r} expected"
        )
    return PyCapsule_GetPointer(capsule, name)


cdef ArrowSchema* schema_from_capsule(object capsule) except NULL:
    cdef ArrowSchema* schema = <ArrowSchema*>pointer_of(capsule, SCHEMA)
    if schema.release == NULL:
        raise ValueError("a schema capsule that was consumed already found")
    return schema


cdef ArrowDeviceArray* device_array_from_capsule(object capsule) except NULL:
    return <ArrowDeviceArray*>pointer_of(capsule, DEVICE_ARRAY)


cdef ArrowArray* array_from_capsule(object capsule) except NULL:
    return <ArrowArray*>pointer_of(capsule, ARRAY)


def device_array_capsule_from_array(object capsule):
    """Move a host array out of its capsule into a device array of the CPU."""
    cdef ArrowArray* array = array_from_capsule(capsule)
    cdef ArrowDeviceArray* target = <ArrowDeviceArray*>allocate(sizeof(ArrowDeviceArray))
    result = PyCapsule_New(target, DEVICE_ARRAY, destroy_device_array)
    target.array = array[0]
    target.device_type = ARROW_DEVICE_CPU
    target.device_id = -1
    array.release = NULL
    return result
