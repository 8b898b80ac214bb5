# SPDX-License-Identifier: Apache-2.0

from cudf_arrow_bridge._core cimport (
    ArrowDeviceArray,
    ArrowSchema,
    unique_device_array,
    unique_schema,
)


cdef object schema_to_capsule(unique_schema& schema)
cdef object device_array_to_capsule(unique_device_array& array)
cdef object array_to_capsule(unique_device_array& array)
cdef ArrowSchema* schema_from_capsule(object capsule) except NULL
cdef ArrowDeviceArray* device_array_from_capsule(object capsule) except NULL
