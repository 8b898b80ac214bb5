# SPDX-License-Identifier: Apache-2.0
"""Transfer of message bodies between devices, host memory and files."""

cimport cython
from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS,
    PyBUF_SIMPLE,
    PyBUF_WRITABLE,
    PyBuffer_FillInfo,
    PyBuffer_Release,
    PyObject_GetBuffer,
)
from libc.stdint cimport uintptr_t
from libcpp.functional cimport function
from libcpp.memory cimport shared_ptr, static_pointer_cast
from libcpp.utility cimport move
from rmm.librmm.cuda_stream_ref cimport stream_ref
from rmm.librmm.device_buffer cimport device_buffer
from rmm.librmm.memory_resource cimport device_async_resource_ref

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.arguments cimport resolve_resource, resource_of, stream_of
from cudf_arrow_bridge._core.interpreter cimport (
    drop_share,
    enter_interpreter,
    leave_interpreter,
    share_object,
)
from cudf_arrow_bridge._core.ipc.body cimport IpcBody

ctypedef const void const_void

cdef extern from "body_transfer.hpp" namespace "cudf_arrow_bridge" nogil:
    void file_exception_handler()
    function[void()] signals_by(int (*)() noexcept nogil) except +file_exception_handler
    shared_ptr[device_buffer] finish_upload(core.body_upload&) except +file_exception_handler
    # Declared here to use file_exception_handler.
    void c_write_body "cudf_arrow_bridge::write_body"(
        int, core.const_byte_span, const core.ipc_body&, size_t, stream_ref, function[void()]
    ) except +file_exception_handler
    size_t c_read_fully "cudf_arrow_bridge::read_fully"(
        int, core.byte_span, function[void()]
    ) except +file_exception_handler


cdef extern from * nogil:
    core.byte_span bytes_of "std::span<std::byte>"(char*, size_t) noexcept
    core.const_byte_span const_bytes_of "std::span<std::byte const>"(
        const char*, size_t
    ) noexcept
    char* as_bytes "reinterpret_cast<std::byte*>"(void*) noexcept
    const char* as_const_bytes "reinterpret_cast<std::byte const*>"(const void*) noexcept


cdef int check_signals() noexcept nogil:
    """Run Python's signal handlers. Return -1 with an exception set if a handler raises."""
    if not enter_interpreter():
        return 0
    cdef int result
    with gil:
        result = run_signal_handlers()
    leave_interpreter()
    return result


cdef extern from *:
    # Declared without `except`, so that the exception stays set.
    int run_signal_handlers "PyErr_CheckSignals"() noexcept


def host_body(pieces) -> IpcBody:
    """Describe objects in host memory as a body.

    Parameters
    ----------
    pieces
        Objects with the buffer protocol, one for each buffer. The body references them.
    """
    cdef IpcBody self = IpcBody.__new__(IpcBody)
    cdef core.ipc_buffer buffer
    cdef Py_buffer view
    kept = []
    for piece in pieces:
        kept.append(memoryview(piece))  # prevents reallocation of the memory
        PyObject_GetBuffer(kept[-1], &view, PyBUF_SIMPLE)
        buffer.address = view.buf
        buffer.size = view.len
        PyBuffer_Release(&view)
        self.body.buffers.push_back(buffer)
    self.body.owner = share_object(kept)
    return self


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


cdef BodyPiece make_piece(
    const void* address, size_t size, bint is_writable, shared_ptr[const void] owner
):
    cdef BodyPiece self = BodyPiece.__new__(BodyPiece)
    self.owner = owner
    self.address = <void*>address
    self.size = <Py_ssize_t>size
    self.is_writable = is_writable
    return self


cdef int end_piece(BodyPiece piece, view) except -1:
    """Release the memory of a step for the next one. Raise BufferError if it is still in use."""
    if piece is not None:
        view.release()
        if piece.num_users:
            raise BufferError(
                "expected no reference to the last piece of a body, got one: its memory is reused, "
                "so keep a copy instead"
            )
    return 0


@cython.no_gc_clear
cdef class BodyDownload:
    """An iterator over the pieces of a packed body as read-only memoryviews.

    Pieces of a body in host memory share its memory and can be kept. Device memory is copied
    through two chunks of pinned memory: the next step releases the piece, and raises BufferError if
    the piece is still in use.

    Parameters
    ----------
    body
        The body.
    chunk_size
        The maximum size in bytes of a piece of device memory.
    """

    cdef shared_ptr[core.body_download] download
    cdef object stream
    cdef BodyPiece piece
    cdef object view
    cdef bint is_lasting

    def __init__(self, IpcBody body not None, size_t chunk_size):
        cdef stream_ref stream = stream_of(body.stream)
        cdef core.ipc_body c_body = body.body
        cdef core.body_download* download
        with nogil:
            download = new core.body_download(move(c_body), chunk_size, stream)
        self.download.reset(download)
        self.stream = body.stream
        self.is_lasting = body.body.location.device_type == core.ARROW_DEVICE_CPU

    def __dealloc__(self):
        cdef shared_ptr[const void] last = self.share()
        self.download.reset()
        drop_share(last)

    cdef shared_ptr[const void] share(self) noexcept:
        return static_pointer_cast[const_void, core.body_download](self.download)

    def __iter__(self):
        return self

    def __next__(self):
        cdef core.const_byte_span found
        if not self.is_lasting:
            end_piece(self.piece, self.view)
            self.piece = None
        with nogil:
            found = self.download.get().next()
        if found.size() == 0:
            raise StopIteration
        self.piece = make_piece(found.data(), found.size(), False, self.share())
        self.view = memoryview(self.piece)
        return self.view


def write_body(IpcBody body not None, head, int fd, size_t chunk_size) -> None:
    """Write a packed body to a file descriptor.

    If the descriptor is non-blocking, wait for it. Python's signal handlers run during the call.

    Parameters
    ----------
    body
        The body.
    head
        The bytes before the body.
    fd
        The file descriptor. Data is written at its current position.
    chunk_size
        The maximum size in bytes of a piece of device memory.

    Raises
    ------
    OSError
        If a system call fails. A part of the data may have been written.
    """
    cdef stream_ref stream = stream_of(body.stream)
    cdef function[void()] run_handlers = signals_by(&check_signals)
    cdef Py_buffer view
    PyObject_GetBuffer(head, &view, PyBUF_SIMPLE)
    try:
        with nogil:
            c_write_body(
                fd,
                const_bytes_of(as_const_bytes(view.buf), <size_t>view.len),
                body.body,
                chunk_size,
                stream,
                run_handlers,
            )
    finally:
        PyBuffer_Release(&view)


def read_fully(int fd, target) -> int:
    """Fill memory from a file descriptor. Return the number of bytes read, fewer only at its end.

    If the descriptor is non-blocking, wait for it. Python's signal handlers run during the call.

    Parameters
    ----------
    fd
        The file descriptor. Data is read from its current position.
    target
        Writable contiguous memory.

    Raises
    ------
    OSError
        If a system call fails.
    """
    cdef function[void()] run_handlers = signals_by(&check_signals)
    cdef Py_buffer view
    cdef size_t num_read
    PyObject_GetBuffer(target, &view, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS)
    try:
        with nogil:
            num_read = c_read_fully(
                fd, bytes_of(as_bytes(view.buf), <size_t>view.len), run_handlers
            )
    finally:
        PyBuffer_Release(&view)
    return num_read


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
cdef class BodyUpload:
    """An upload of host memory to device memory in pieces.

    Parameters
    ----------
    size
        The size of the body in bytes.
    stream
        The `Stream` that copies are enqueued on.
    mr
        The memory resource for the device memory. None: rmm's current resource.
    chunk_size
        The maximum size of a piece in bytes.

    Raises
    ------
    RuntimeError
        If there is no GPU.
    """

    cdef shared_ptr[core.body_upload] upload
    cdef object stream
    cdef object mr
    cdef BodyPiece piece
    cdef object view

    def __init__(self, size_t size, stream, mr, size_t chunk_size):
        self.stream = stream
        self.mr = resolve_resource(mr)
        cdef stream_ref c_stream = stream_of(stream)
        cdef device_async_resource_ref resource = resource_of(self.mr)
        cdef core.body_upload* upload
        with nogil:
            upload = new core.body_upload(size, chunk_size, c_stream, resource)
        self.upload.reset(upload)

    def __dealloc__(self):
        cdef shared_ptr[const void] last = self.share()
        self.upload.reset()
        drop_share(last)

    cdef shared_ptr[const void] share(self) noexcept:
        return static_pointer_cast[const_void, core.body_upload](self.upload)

    def next(self):
        """Return a memoryview of the next piece to fill, or None if the body is complete."""
        cdef core.byte_span found
        self.take_back()
        with nogil:
            found = self.upload.get().next()
        if found.size() == 0:
            return None
        self.piece = make_piece(found.data(), found.size(), True, self.share())
        self.view = memoryview(self.piece)
        return self.view

    def commit(self, size_t filled) -> None:
        """Enqueue the copy of the first `filled` bytes of the last piece, and release the piece."""
        self.take_back()
        with nogil:
            self.upload.get().commit(filled)

    def finish(self) -> DeviceMemory:
        """Return the memory. The body must be complete."""
        self.take_back()
        cdef shared_ptr[device_buffer] memory = finish_upload(self.upload.get()[0])
        cdef stream_ref stream = stream_of(self.stream)
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

    cdef int take_back(self) except -1:
        piece, view = self.piece, self.view
        self.piece = self.view = None
        return end_piece(piece, view)
