# SPDX-License-Identifier: Apache-2.0

from libcpp.pair cimport pair
from libcpp.string cimport string
from libcpp.vector cimport vector

from cudf_arrow_bridge._core.libcudf_arrow_bridge cimport (
    ArrowSchema,
    column_metadata,
    shared_schema,
)


cdef column_metadata to_column_metadata(object metadata) except *
cdef vector[pair[string, string]] to_key_values(object metadata) except *
cdef const ArrowSchema* requested_from_capsule(object capsule) except? NULL
cpdef bint marks_table(object capsule) except -1
cpdef bint is_struct(object capsule) except -1


cdef class Schema:
    cdef shared_schema schema

    @staticmethod
    cdef Schema wrap(shared_schema schema)
