# SPDX-License-Identifier: Apache-2.0


cdef class ImportedField:
    cdef readonly object field
    cdef readonly tuple children
    cdef readonly bint has_parent
    cdef readonly bint is_nullable


cdef list fields_key(tuple columns)
