# SPDX-License-Identifier: Apache-2.0

from libcpp.vector cimport vector
from pylibcudf.libcudf.column.column_view cimport column_view
from pylibcudf.libcudf.types cimport size_type

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core


cpdef bint marks_table(object capsule) except -1


cdef class Schema:
    cdef core.shared_schema schema
    #: A cache of objects that other modules derive from the schema, each with its own key.
    cdef readonly dict derived

    @staticmethod
    cdef Schema wrap(core.shared_schema schema)


cdef class SchemaSpec:
    cdef readonly object fields  # type: Sequence[Any]
    cdef readonly object metadata  # type: Mapping[bytes, bytes]
    cdef readonly tuple labels
    #: None before the first export.
    cdef Schema schema

    cdef Schema schema_of(
        self, vector[column_view]& columns, bint is_table, size_type num_rows, requested_schema
    )


cpdef SchemaSpec cached_spec(object key)
cpdef int cache_spec(object key, SchemaSpec spec, object kept_alive) except -1
