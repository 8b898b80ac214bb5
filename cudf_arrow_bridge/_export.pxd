# SPDX-License-Identifier: Apache-2.0

from libcpp.memory cimport unique_ptr

from cudf_arrow_bridge cimport _core


cdef class ExportedArray:
    cdef _core.device_array array

    @staticmethod
    cdef ExportedArray wrap(_core.device_array array)


cdef class BatchSource:
    cdef unique_ptr[_core.batch_source] source
