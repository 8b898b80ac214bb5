# SPDX-License-Identifier: Apache-2.0

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core


cdef class ExportedArray:
    cdef core.device_array array
    #: What `stream=` of the export resolved to; None for a copy in host memory.
    cdef readonly object stream

    @staticmethod
    cdef ExportedArray wrap(core.device_array array, object stream)


cdef class DescribedArray:
    #: Set and so dropped first: at exit, the interpreter waits for the owner of the array.
    cdef public object _exporter
    cdef public ExportedArray _array
    cdef public object _arrow_schema
    cdef public str _kind
    cdef public tuple _labels
    cdef public object _first_row

    cdef tuple capsules(self)
