# SPDX-License-Identifier: Apache-2.0

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, uintptr_t
from libcpp.string cimport string
from libcpp.vector cimport vector
from pylibcudf.column cimport Column
from pylibcudf.libcudf.column.column_view cimport column_view
from pylibcudf.libcudf.types cimport size_type
from pylibcudf.table cimport Table


cdef class Span:
    cdef readonly uintptr_t ptr
    cdef readonly size_t size
    #: The `ImportedFields` that a level of a column was imported with, and which of them; or NULL.
    #: A counted reference, but no `object`: the garbage collector would look through every span.
    cdef PyObject* fields
    cdef int32_t level
    cdef object __weakref__


cdef class OwningSpan(Span):
    cdef readonly object owner


cdef int add_views(vector[column_view]& views, tuple columns) except -1
cpdef Table table_of(object columns, size_type num_rows)
cdef object main_span_of(Column column)
cdef int add_types(string& types, Column column) except -1
cpdef bytes types_of(object columns)
