# SPDX-License-Identifier: Apache-2.0
"""Description of arrays as bodies of IPC messages."""

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uintptr_t
from libcpp.utility cimport move
from rmm.librmm.memory_resource cimport device_async_resource_ref

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.arguments cimport resolve_resource, resource_of, stream_of
from cudf_arrow_bridge._core.export.exported_array cimport ExportedArray
from cudf_arrow_bridge._core.interpreter cimport share_object

#: The alignment in bytes of each buffer in a packed body.
ALIGNMENT: int = core.ipc_alignment


# Never part of a reference cycle, and there can be thousands of them.
@cython.no_gc
cdef class BodyBuffer:
    """One buffer of the body of a message. It references the body.

    Host-accessible memory has the buffer protocol. Device memory has ``__cuda_array_interface__``.
    If the buffer is absent, the address and the size in bytes are 0.
    """

    @staticmethod
    cdef BodyBuffer of(core.ipc_buffer buffer, IpcBody body):
        cdef BodyBuffer self = BodyBuffer.__new__(BodyBuffer)
        self.address = <uintptr_t>buffer.address
        self.size = buffer.size
        self.location = body.body.location
        self.stream = body.stream
        self.owner = body
        return self

    @property
    def device_type(self) -> int:
        """Arrow's device type of the memory."""
        return self.location.device_type

    @property
    def nbytes(self) -> int:
        return self.size

    def __len__(self) -> int:
        return self.size

    def __getbuffer__(self, Py_buffer* view, int flags):
        if self.location.device_type != core.ARROW_DEVICE_CPU:
            raise BufferError(
                f"the body is in {core.to_string(self.location).decode()}: use "
                "__cuda_array_interface__"
            )
        PyBuffer_FillInfo(view, self, <void*>self.address, self.size, True, flags)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.location.device_type == core.ARROW_DEVICE_CPU:
            raise AttributeError("the body is in CPU memory: use the buffer protocol")
        return {
            "data": (self.address, True),
            "shape": (self.size,),
            "strides": None,
            "typestr": "|u1",
            "version": 3,
            # The protocol disallows 0 as ambiguous; 1 is the legacy default stream.
            "stream": self.stream.handle or 1,
        }

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, {self.size} bytes at {self.address:#x}>"


cdef class IpcBody:
    """The body of a message: wraps `cudf_arrow_bridge::ipc_body`."""

    @property
    def packed_size(self) -> int:
        """The size in bytes of the body with each buffer padded to `ALIGNMENT`."""
        return self.body.packed_size()

    @property
    def device_type(self) -> int:
        """Arrow's device type of the memory."""
        return self.body.location.device_type

    def wait(self) -> None:
        """Wait until the buffers are ready, for readers that do not use CUDA streams."""
        cdef core.ipc_body body = self.body
        cdef core.stream_ref stream = stream_of(self.stream)
        with nogil:
            body.wait(stream)

    def buffers(self, bint with_absent=True) -> list[BodyBuffer]:
        """List the buffers as `BodyBuffer`, with or without absent ones."""
        cdef core.ipc_buffer buffer
        return [
            BodyBuffer.of(buffer, self)
            for buffer in self.body.buffers
            if with_absent or buffer.size > 0
        ]

    def dictionaries(self) -> list[ExportedArray]:
        """List the values of each dictionary as `ExportedArray`."""
        return [ExportedArray.wrap(values, self.stream) for values in self.body.dictionaries]

    def places(self) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the lengths of the nodes, and the addresses and sizes of the buffers."""
        lengths = [node.length for node in self.body.nodes]
        return lengths, [(<uintptr_t>buffer.address, buffer.size) for buffer in self.body.buffers]

    def with_buffers(self, list buffers not None: list[bytes]) -> IpcBody:
        """Return a body with `bytes` objects as its buffers, such as compressed buffers."""
        cdef IpcBody result = IpcBody.__new__(IpcBody)
        cdef core.memory_location host
        cdef core.ipc_buffer buffer
        result.stream = self.stream
        result.body = self.body
        result.body.buffers.clear()
        for data in buffers:
            buffer.address = PyBytes_AsString(data)
            buffer.size = len(data)
            result.body.buffers.push_back(buffer)
        result.body.location = host
        result.body.owner = share_object(buffers)
        return result

    def numbers(self) -> tuple[int, bytes, bytes, bytes, int]:
        """Return the numbers of the metadata of the message.

        These are the number of rows, and as bytes with numbers of 64 bits: the length and null
        count of each node, the offset and size of each buffer in a packed body, and the variadic
        buffer counts. The last item is `packed_size`.
        """
        cdef bytes pairs = PyBytes_FromStringAndSize(
            NULL, self.body.buffers.size() * sizeof(int64_t[2])
        )
        cdef int64_t* pair = <int64_t*>PyBytes_AsString(pairs)
        cdef int64_t offset = 0
        # The bytes object is new, so no other code has a reference to it yet.
        for buffer in self.body.buffers:
            pair[0] = offset
            pair[1] = buffer.size
            pair += 2
            offset += core.ipc_padded(buffer.size)
        nodes = PyBytes_FromStringAndSize(
            <const char*>self.body.nodes.data(), self.body.nodes.size() * sizeof(core.ipc_node)
        )
        counts = PyBytes_FromStringAndSize(
            <const char*>self.body.variadic_counts.data(),
            self.body.variadic_counts.size() * sizeof(int64_t),
        )
        return self.body.length, nodes, pairs, counts, offset


def describe_body(
    ExportedArray array not None, bint is_table, stream: Stream, bint is_downloaded=False
) -> IpcBody:
    """Describe an exported array as a message body; see `cudf_arrow_bridge::describe_body`."""
    cdef IpcBody result = IpcBody.__new__(IpcBody)
    cdef core.device_array handle = array.array
    cdef core.stream_ref c_stream = stream_of(stream)
    result.stream = stream
    result.mr = resolve_resource(None)
    cdef device_async_resource_ref resource = resource_of(result.mr)
    with nogil:
        result.body = move(core.describe_body(handle, is_table, c_stream, resource, is_downloaded))
    return result
