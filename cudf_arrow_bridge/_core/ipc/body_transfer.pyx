# SPDX-License-Identifier: Apache-2.0
"""Transfer of message bodies between devices and host memory."""

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdint cimport uintptr_t
from libcpp.memory cimport shared_ptr, static_pointer_cast
from libcpp.utility cimport move
from pylibcudf.exception_handler cimport libcudf_exception_handler
from rmm.librmm.device_buffer cimport device_buffer
from rmm.librmm.memory_resource cimport device_async_resource_ref

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.arguments cimport resolve_resource, resource_of, stream_of
from cudf_arrow_bridge._core.interpreter cimport drop_share
from cudf_arrow_bridge._core.ipc.body cimport IpcBody

ctypedef const void const_void

cdef extern from *:
    """
    #include <cudf_arrow_bridge/ipc.hpp>

    static inline std::shared_ptr<rmm::device_buffer> finish_upload(
      cudf_arrow_bridge::body_upload& upload)
    {
      return std::make_shared<rmm::device_buffer>(upload.finish());
    }
    """
    shared_ptr[device_buffer] finish_upload(
        core.body_upload&
    ) except +libcudf_exception_handler nogil


@cython.no_gc
cdef class BodyPiece:
    """The memory of one step of a transfer, with the buffer protocol."""

    cdef shared_ptr[const void] owner
    cdef void* address
    cdef Py_ssize_t size
    cdef bint is_writable
    cdef Py_ssize_t num_users

    def __dealloc__(self):
        drop_share(self.owner)

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.address, self.size, not self.is_writable, flags)
        self.num_users += 1

    def __releasebuffer__(self, Py_buffer* buffer):
        self.num_users -= 1


@cython.no_gc_clear
cdef class Transfer:
    """A transfer of a body in pieces, whose memory is reused."""

    #: Owns the C++ transfer, which uses the stream and the memory resource. They are fields of this
    #: class because Cython clears the fields of subclasses before it calls `__dealloc__`.
    cdef shared_ptr[const void] owner
    cdef object stream
    cdef object mr
    cdef BodyPiece piece
    cdef object view

    def __dealloc__(self):
        drop_share(self.owner)

    cdef object give(self, const void* address, size_t size, bint is_writable):
        """Return a memoryview of the memory of one step."""
        cdef BodyPiece piece = BodyPiece.__new__(BodyPiece)
        piece.owner = self.owner
        piece.address = <void*>address
        piece.size = <Py_ssize_t>size
        piece.is_writable = is_writable
        self.piece = piece
        self.view = memoryview(piece)
        return self.view

    cdef int take_back(self) except -1:
        """Release the memory of a step. Raise BufferError if it is still in use."""
        if self.piece is not None:
            self.view.release()
            if self.piece.num_users:
                raise BufferError(
                    "expected no reference to the last piece of a body, got one: its memory is "
                    "reused, so keep a copy instead"
                )
            self.piece = self.view = None
        return 0


@cython.no_gc_clear
cdef class BodyDownload(Transfer):
    """An iterator over the pieces of a packed body as read-only memoryviews.

    Pieces of a body in host memory share its memory and can be kept. Device memory is copied
    through two chunks of pinned memory: the next step releases the piece, and raises BufferError if
    the piece is still in use.
    """

    cdef core.body_download* download
    cdef bint is_lasting

    def __init__(self, IpcBody body not None, size_t chunk_size):
        cdef core.stream_ref stream = stream_of(body.stream)
        cdef core.ipc_body c_body = body.body
        with nogil:
            self.download = new core.body_download(move(c_body), chunk_size, stream)
        self.owner = static_pointer_cast[const_void, core.body_download](
            shared_ptr[core.body_download](self.download)
        )
        self.stream = body.stream
        self.mr = body.mr
        self.is_lasting = body.body.location.device_type == core.ARROW_DEVICE_CPU

    def __iter__(self):
        return self

    def __next__(self):
        cdef core.const_byte_span found
        if not self.is_lasting:
            self.take_back()
        with nogil:
            found = self.download.next()
        if found.size() == 0:
            raise StopIteration
        return self.give(found.data(), found.size(), False)


@cython.no_gc_clear
cdef class DeviceMemory:
    """Owned device memory with ``__cuda_array_interface__``.

    It is freed on the stream that filled it. It references the stream and its memory resource.
    """

    cdef shared_ptr[const void] owner
    cdef readonly uintptr_t address
    cdef readonly size_t size
    cdef readonly object stream
    cdef object mr

    def __dealloc__(self):
        drop_share(self.owner)

    @property
    def __cuda_array_interface__(self) -> dict:
        return {
            "data": (self.address, False),
            "shape": (self.size,),
            "strides": None,
            # The protocol disallows 0 as ambiguous; 1 is the legacy default stream.
            "stream": self.stream.handle or 1,
            "typestr": "|u1",
            "version": 3,
        }


@cython.no_gc_clear
cdef class BodyUpload(Transfer):
    """An upload of host memory to memory of the current device in pieces.

    Raises
    ------
    RuntimeError
        If there is no GPU.
    """

    cdef core.body_upload* upload

    def __init__(self, size_t size, stream, mr, size_t chunk_size):
        self.stream = stream
        self.mr = resolve_resource(mr)
        cdef core.stream_ref c_stream = stream_of(stream)
        cdef device_async_resource_ref resource = resource_of(self.mr)
        with nogil:
            self.upload = new core.body_upload(size, chunk_size, c_stream, resource)
        self.owner = static_pointer_cast[const_void, core.body_upload](
            shared_ptr[core.body_upload](self.upload)
        )

    def next(self):
        """Return a memoryview of the next piece to fill, or None if the body is complete."""
        cdef core.byte_span found
        self.take_back()
        with nogil:
            found = self.upload.next()
        if found.size() == 0:
            return None
        return self.give(found.data(), found.size(), True)

    def commit(self, size_t filled) -> None:
        """Enqueue the copy of the first `filled` bytes of the last piece, and release the piece."""
        self.take_back()
        with nogil:
            self.upload.commit(filled)

    def finish(self) -> DeviceMemory:
        """Return the memory. The body must be complete."""
        self.take_back()
        cdef shared_ptr[device_buffer] memory = finish_upload(self.upload[0])
        cdef core.stream_ref stream = stream_of(self.stream)
        cdef DeviceMemory result = DeviceMemory.__new__(DeviceMemory)
        result.address = <uintptr_t>memory.get().data()
        result.size = memory.get().size()
        # The per-thread default stream is a different stream on the thread that frees the memory.
        result.owner = core.release_after(
            static_pointer_cast[const_void, device_buffer](memory), stream, stream
        )
        result.stream = self.stream
        result.mr = self.mr
        return result
