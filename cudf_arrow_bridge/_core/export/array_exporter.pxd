# SPDX-License-Identifier: Apache-2.0

from libc.stdint cimport uintptr_t
from libcpp.memory cimport unique_ptr
from pylibcudf.libcudf.types cimport size_type

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.schema cimport SchemaSpec


cdef class ExportInput:
    cdef readonly str kind
    cdef readonly tuple columns
    cdef readonly size_type num_rows
    cdef readonly SchemaSpec schema_spec
    cdef readonly tuple made

    @staticmethod
    cdef ExportInput of(
        str kind, tuple columns, size_type num_rows, spec_of_types, spec_of_fields
    )


cdef class ExportArguments:
    cdef readonly object stream
    cdef readonly bint compact
    cdef readonly bint managed_as_cuda
    cdef readonly object mr
    cdef readonly object copy
    cdef core.copy_policy copy_policy
    cdef bint is_freed_by_thread
    cdef uintptr_t first_handle

    cdef uintptr_t handle_here(self) except? 0


cdef class InputExporter:
    cdef readonly ExportInput export_input
    cdef readonly ExportArguments arguments


cdef class BatchSource:
    cdef unique_ptr[core.batch_source] source
