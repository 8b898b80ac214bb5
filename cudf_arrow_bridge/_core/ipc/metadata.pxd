# SPDX-License-Identifier: Apache-2.0

from libc.stdint cimport int64_t


cdef class Flatbuffer:
    cdef readonly bytes data
    cdef str subject
    cdef const char* start
    cdef int64_t size
    cdef int64_t num_tables
    #: The bytes of the vectors that were copied.
    cdef int64_t num_copied

    cdef int check(self, int64_t position, int64_t size, int64_t alignment) except -1
    cdef int64_t unsigned(self, int64_t position, int size) except -1
    cdef int64_t signed(self, int64_t position, int size) except? -1
    cdef int64_t target(self, int64_t position) except -1


cdef class Table:
    cdef readonly Flatbuffer buffer
    cdef readonly int64_t position
    cdef int64_t vtable
    cdef int64_t num_slots

    cdef int64_t slot(self, int64_t index, int size) except -1
    cpdef int64_t number(self, int64_t index, int size) except? -1
    cpdef Table table(self, int64_t index)
    cdef int64_t items(
        self, int64_t index, int64_t item_size, int64_t alignment, int64_t* count
    ) except -1
    cdef list tables_of(self, int64_t index)
    cdef int64_t spend(self, int64_t index, int64_t item_size, int64_t* count) except -1
    cdef bytes string(self, int64_t index)
    cpdef dict key_values(self, int64_t index)


cdef class Header:
    cdef readonly bytes metadata
    cdef readonly str kind
    cdef readonly int64_t body_length
    cdef readonly int64_t length
    cdef readonly int64_t nodes
    cdef readonly int64_t num_nodes
    cdef readonly int64_t buffers
    cdef readonly int64_t num_buffers
    cdef readonly tuple variadic_counts
    cdef readonly str codec
    cdef readonly int64_t dictionary_id
    cdef readonly bint is_delta
