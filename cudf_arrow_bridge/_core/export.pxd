# SPDX-License-Identifier: Apache-2.0

from libcpp.memory cimport unique_ptr
from pylibcudf.libcudf.types cimport size_type

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


cdef class ExportInput:
    cdef readonly str kind
    cdef readonly object columns
    cdef readonly size_type num_rows
    cdef readonly object schema_spec


cdef class BatchSource:
    cdef unique_ptr[core.batch_source] source
