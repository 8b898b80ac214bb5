# SPDX-License-Identifier: Apache-2.0

from libcpp.memory cimport unique_ptr

from cudf_arrow_bridge cimport _core


cdef class ExportedArray:
    cdef _core.device_array array
    #: What `stream=` of the export resolved to; None for a copy in host memory.
    cdef readonly object stream

    @staticmethod
    cdef ExportedArray wrap(_core.device_array array, object stream)


cdef class BatchSource:
    cdef unique_ptr[_core.batch_source] source
