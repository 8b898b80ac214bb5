# SPDX-License-Identifier: Apache-2.0

from libc.stdint cimport uintptr_t
from libcpp.string cimport string
from libcpp.vector cimport vector
from pylibcudf.column cimport Column
from pylibcudf.libcudf.column.column_view cimport column_view


cdef class Span:
    cdef readonly uintptr_t ptr
    cdef readonly size_t size
    cdef object __weakref__


cdef int add_views(vector[column_view]& views, tuple columns) except -1
cdef object main_span_of(Column column)
cdef int add_types(string& types, Column column) except -1
cpdef bytes types_of(object columns)
