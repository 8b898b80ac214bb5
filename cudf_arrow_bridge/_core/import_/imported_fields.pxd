# SPDX-License-Identifier: Apache-2.0

from libc.stdint cimport int32_t
from libcpp.vector cimport vector
from pylibcudf.libcudf.types cimport type_id

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core


cdef struct ImportedLevel:
    const core.ArrowSchema* schema  # the field
    type_id type  # the type of columns imported with the field
    bint is_nullable
    int32_t end  # the index after the last level below this one


cdef class ImportedFields:
    cdef core.unique_schema schema
    cdef vector[ImportedLevel] levels

    @staticmethod
    cdef ImportedFields of(core.shared_schema schema)


cdef int remember(object columns, ImportedFields fields, bint is_table) except -1
cdef bytes fields_key(tuple columns)
