# SPDX-License-Identifier: Apache-2.0
"""Transfer of message bodies between devices and host memory."""

cimport cython
from cpython.buffer cimport (
    PyBUF_SIMPLE,
    PyBuffer_FillInfo,
    PyBuffer_Release,
    PyObject_GetBuffer,
)
from libc.stdint cimport uintptr_t
from libcpp.memory cimport shared_ptr, static_pointer_cast
from rmm.librmm.device_buffer cimport device_buffer
from rmm.librmm.memory_resource cimport device_async_resource_ref

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.arguments cimport resolve_resource, resource_of, stream_of
from cudf_arrow_bridge._core.interpreter cimport drop_share
from cudf_arrow_bridge._core.ipc.body cimport IpcBody

ctypedef const void const_void
ctypedef int (*piece_user)(
    void*, void*, size_t, const shared_ptr[const_void]&
) except -1 with gil

cdef extern from *:
    """
    #include <cudf_arrow_bridge/ipc.hpp>

    namespace {

    using memory_ptr = std::shared_ptr<rmm::device_buffer>;

    memory_ptr copy_memory(void const* source, std::size_t size, std::size_t chunk_size,
                           cuda::stream_ref stream, rmm::device_async_resource_ref mr)
    {
      auto const bytes = std::span{static_cast<std::byte const*>(source), size};
      return std::make_shared<rmm::device_buffer>(
        cudf_arrow_bridge::upload_body(bytes, chunk_size, stream, mr));
    }

    template <typename Function>
    cudf_arrow_bridge::body_transfer transfer_with(void* context, Function function)
    {
      return [=](auto piece, auto const& owner) {
        if (function(context, piece.data(), piece.size(), owner) < 0) {
          throw std::runtime_error{"Python has raised an exception"};
        }
      };
    }

    template <typename Function>
    memory_ptr read_memory(void* context, Function read, std::size_t size, std::size_t chunk_size,
                           cuda::stream_ref stream, rmm::device_async_resource_ref mr)
    {
      return std::make_shared<rmm::device_buffer>(cudf_arrow_bridge::upload_body(
        size, chunk_size, transfer_with(context, read), stream, mr));
    }

    template <typename Function>
    void write_memory(void* context, Function write, cudf_arrow_bridge::ipc_body const& body,
                      std::size_t chunk_size, cuda::stream_ref stream)
    {
      cudf_arrow_bridge::download_body(body, chunk_size, transfer_with(context, write), stream);
    }

    /// The exception of Python replaces the exception that it causes in C++.
    void handle_exception()
    {
      if (PyErr_Occurred() == nullptr) { libcudf_exception_handler(); }
    }

    }  // namespace
    """
    void handle_exception() noexcept
    shared_ptr[device_buffer] copy_memory(
        const void*, size_t, size_t, core.stream_ref, device_async_resource_ref
    ) except +handle_exception nogil
    shared_ptr[device_buffer] read_memory(
        void*, piece_user, size_t, size_t, core.stream_ref, device_async_resource_ref
    ) except +handle_exception nogil
    void write_memory(
        void*, piece_user, core.ipc_body&, size_t, core.stream_ref
    ) except +handle_exception nogil


@cython.no_gc
cdef class BodyPiece:
    """The memory of one step of a transfer, with the buffer protocol."""

    cdef shared_ptr[const void] owner
    cdef void* address
    cdef Py_ssize_t size
    cdef Py_ssize_t num_users

    def __dealloc__(self):
        drop_share(self.owner)

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.address, self.size, False, flags)
        self.num_users += 1

    def __releasebuffer__(self, Py_buffer* buffer):
        self.num_users -= 1


@cython.no_gc_clear
cdef class DeviceMemory:
    """Owned device memory with ``__cuda_array_interface__``.

    It is freed on the stream that filled it. It references the stream and its memory resource.
    """

    cdef shared_ptr[const void] owner
    cdef readonly uintptr_t address
    cdef readonly size_t size
    cdef readonly object stream  # type: Stream
    cdef object mr

    @staticmethod
    cdef DeviceMemory of(shared_ptr[device_buffer] memory, object stream, object mr):
        cdef DeviceMemory self = DeviceMemory.__new__(DeviceMemory)
        cdef core.stream_ref c_stream = stream_of(stream)
        self.address = <uintptr_t>memory.get().data()
        self.size = memory.get().size()
        # The per-thread default stream is a different stream on the thread that frees the memory.
        self.owner = core.release_after(
            static_pointer_cast[const_void, device_buffer](memory), c_stream, c_stream
        )
        self.stream = stream
        self.mr = mr
        return self

    def __dealloc__(self):
        drop_share(self.owner)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "data": (self.address, False),
            "shape": (self.size,),
            "strides": None,
            # The protocol disallows 0 as ambiguous; 1 is the legacy default stream.
            "stream": self.stream.handle or 1,
            "typestr": "|u1",
            "version": 3,
        }


def upload_memory(source, stream: Stream, mr, size_t chunk_size) -> DeviceMemory:
    """Copy contiguous host memory to the current device. Raise RuntimeError without a GPU."""
    cdef object resource = resolve_resource(mr)
    cdef core.stream_ref c_stream = stream_of(stream)
    cdef device_async_resource_ref c_resource = resource_of(resource)
    cdef shared_ptr[device_buffer] memory
    cdef Py_buffer view
    PyObject_GetBuffer(source, &view, PyBUF_SIMPLE)
    try:
        with nogil:
            memory = copy_memory(view.buf, view.len, chunk_size, c_stream, c_resource)
    finally:
        PyBuffer_Release(&view)
    return DeviceMemory.of(memory, stream, resource)


cdef int use_piece(
    void* function, void* address, size_t size, const shared_ptr[const_void]& owner
) except -1 with gil:
    """Call a function with a memoryview of a piece. Raise BufferError if it keeps the memory."""
    cdef BodyPiece piece = BodyPiece.__new__(BodyPiece)
    piece.owner = owner
    piece.address = address
    piece.size = <Py_ssize_t>size
    view = memoryview(piece)
    (<object>function)(view)
    view.release()
    if piece.num_users:
        raise BufferError(
            "the function kept a reference to a piece of a body, whose memory is reused: keep a "
            "copy instead"
        )
    return 0


def upload_from(
    read_into: Callable[[memoryview], object], size_t size, stream: Stream, mr, size_t chunk_size
) -> DeviceMemory:
    """Fill memory of the current device; `read_into` fills a memoryview of each piece.

    Raise RuntimeError without a GPU, and BufferError if `read_into` keeps a piece.
    """
    cdef object resource = resolve_resource(mr)
    cdef core.stream_ref c_stream = stream_of(stream)
    cdef device_async_resource_ref c_resource = resource_of(resource)
    cdef void* context = <void*>read_into
    cdef shared_ptr[device_buffer] memory
    with nogil:
        memory = read_memory(context, use_piece, size, chunk_size, c_stream, c_resource)
    return DeviceMemory.of(memory, stream, resource)


def download_to(
    write: Callable[[memoryview], object], IpcBody body not None, size_t chunk_size
) -> None:
    """Call `write` with a memoryview of each piece of a packed body in device memory.

    Raise BufferError if `write` keeps a piece.
    """
    cdef core.stream_ref stream = stream_of(body.stream)
    cdef core.ipc_body c_body = body.body

    def write_piece(piece):
        with piece.toreadonly() as view:
            write(view)

    cdef void* context = <void*>write_piece
    with nogil:
        write_memory(context, use_piece, c_body, chunk_size, stream)
