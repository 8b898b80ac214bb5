# SPDX-License-Identifier: Apache-2.0

from libc.stdint cimport int64_t, uintptr_t

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core


cdef class IpcBody:
    cdef core.ipc_body body
    #: The stream of reads and copies.
    cdef readonly object stream  # type: Stream
    #: The memory resource of copies, which must outlive them.
    cdef object mr


cdef class BodyBuffer:
    cdef readonly uintptr_t address
    cdef readonly int64_t size
    cdef core.memory_location location
    #: The stream of the body.
    cdef readonly object stream  # type: Stream
    cdef object owner

    @staticmethod
    cdef BodyBuffer of(core.ipc_buffer buffer, IpcBody body)
