# SPDX-License-Identifier: Apache-2.0

from libc.stdint cimport int64_t
from libcpp.vector cimport vector

from cudf_arrow_bridge._core.libcudf_arrow_bridge cimport (
    ipc_batch,
    ipc_buffer,
    ipc_memory,
    ipc_node,
    memory_location,
)


cdef class BodyMemory:
    cdef vector[ipc_buffer] buffers
    cdef memory_location location
    cdef bint is_located
    cdef bint is_packed
    cdef list owners

    cdef int add(self, object obj, object adopt_device) except -1


cdef class BatchParts:
    cdef int64_t length
    cdef vector[ipc_node] nodes
    cdef vector[ipc_buffer] buffers
    cdef vector[int64_t] variadic_counts
    cdef ipc_memory memory

    cdef int add_buffers(
        self, const char* pairs, size_t count, BodyMemory memory, bint is_compressed
    ) except -1
    cdef ipc_batch view(self) noexcept
