# SPDX-License-Identifier: Apache-2.0

from libcpp.memory cimport unique_ptr

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core


cdef class ExportedArray:
    cdef core.device_array array
    #: What `stream=` of the export resolved to; None for a copy in host memory.
    cdef readonly object stream

    @staticmethod
    cdef ExportedArray wrap(core.device_array array, object stream)


cdef class BatchSource:
    cdef unique_ptr[core.batch_source] source
