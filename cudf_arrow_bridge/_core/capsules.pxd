# SPDX-License-Identifier: Apache-2.0

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core


cdef object schema_to_capsule(core.unique_schema& schema)
cdef object device_array_to_capsule(core.unique_device_array& array)
cdef object array_to_capsule(core.unique_array& array)
cdef core.ArrowSchema* schema_from_capsule(object capsule) except NULL
cdef core.ArrowDeviceArray* device_array_from_capsule(object capsule) except NULL
cdef object device_stream_to_capsule(core.unique_device_array_stream& stream, object state)
cdef object stream_to_capsule(core.unique_array_stream& stream, object state)
cdef core.ArrowDeviceArrayStream* device_stream_from_capsule(object capsule) except? NULL
cdef core.ArrowArrayStream* stream_from_capsule(object capsule) except NULL
cdef object stream_state_of(object capsule)
cpdef object device_array_capsule_from_array(object capsule)
cpdef check_keywords(dict keywords)
