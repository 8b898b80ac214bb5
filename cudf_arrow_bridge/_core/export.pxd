# SPDX-License-Identifier: Apache-2.0

from libc.stdint cimport uintptr_t
from libcpp.memory cimport unique_ptr
from pylibcudf.libcudf.types cimport size_type

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.schema cimport SchemaSpec


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


cdef class ExportInput:
    cdef readonly str kind
    cdef readonly tuple columns
    cdef readonly size_type num_rows
    cdef readonly SchemaSpec schema_spec

    @staticmethod
    cdef ExportInput of(str kind, tuple columns, size_type num_rows, spec_of)


cdef class ExportArguments:
    cdef readonly object stream
    cdef readonly bint compact
    cdef readonly bint managed_as_cuda
    cdef bint is_freed_by_thread
    cdef uintptr_t first_handle

    cdef uintptr_t handle_here(self) except? 0


cdef class InputExporter:
    cdef readonly ExportInput export_input
    cdef readonly ExportArguments arguments


cdef class BatchSource:
    cdef unique_ptr[core.batch_source] source
