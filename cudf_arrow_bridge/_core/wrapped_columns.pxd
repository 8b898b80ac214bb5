# SPDX-License-Identifier: Apache-2.0

from libcpp.memory cimport shared_ptr, unique_ptr
from pylibcudf.column cimport Column
from pylibcudf.libcudf.column.column cimport column
from pylibcudf.libcudf.types cimport size_type
from rmm.librmm.cuda_stream_ref cimport stream_ref

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core


cdef class ImportContext:
    cdef object mr
    cdef object freed_on
    cdef object read_on
    cdef bint has_objects
    cdef stream_ref stream
    cdef stream_ref reader

    cdef shared_ptr[const void] released_in_order(self, shared_ptr[const void]) except *


cdef Column wrap_column(
    unique_ptr[column] storage, size_type offset, size_type size, ImportContext context
)

cdef list wrap_columns(core.borrowed_table& table, ImportContext context)
