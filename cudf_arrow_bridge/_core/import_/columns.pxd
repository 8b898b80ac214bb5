# SPDX-License-Identifier: Apache-2.0

from cpython.ref cimport PyObject
from libc.stdint cimport uintptr_t
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector
from pylibcudf.column cimport Column
from pylibcudf.libcudf.column.column_view cimport column_view
from pylibcudf.libcudf.types cimport type_id

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core


cdef class Span:
    cdef readonly uintptr_t ptr
    cdef readonly size_t size
    #: Whether an import allocated the memory, which no other object uses.
    cdef readonly bint is_allocated
    #: A counted reference to the `ImportedField` that a level of a column was imported with, or
    #: NULL. It is not an `object`, since the garbage collector would then traverse every span.
    cdef PyObject* field
    cdef type_id type  # the type of that level
    cdef object __weakref__


cdef class OwningSpan(Span):
    cdef readonly object owner


cdef int add_views(vector[column_view]& views, tuple columns) except -1
cpdef Column rebuild_all(Column column, object make_span)
cpdef object main_span(Column column)
cdef int add_types(string& types, Column column) except -1
cpdef bytes types_of(object columns)


cdef class ImportContext:
    cdef object mr
    cdef object freed_on
    cdef object read_on
    cdef bint copies
    cdef core.stream_ref stream
    cdef core.stream_ref reader

    cdef shared_ptr[const void] released_in_order(self, shared_ptr[const void]) except *


cdef list wrap_columns(core.imported_table& table, ImportContext context)
