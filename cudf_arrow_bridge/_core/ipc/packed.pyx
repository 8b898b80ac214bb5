# SPDX-License-Identifier: Apache-2.0
"""Serialization of arrays to 64-bit integers and buffers, without IPC metadata and schema.

The integers describe the body of the array, then those of its dictionaries, depth first. For each
body: the numbers of rows, nodes, buffers and variadic counts; the length and null count of each
node; for each buffer, 4 times its size plus the base-2 logarithm of its alignment (at most 3); the
variadic counts.
"""

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uintptr_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.export.exported_array cimport ExportedArray
from cudf_arrow_bridge._core.interpreter cimport share_object
from cudf_arrow_bridge._core.ipc.body cimport BodyBuffer, IpcBody
from cudf_arrow_bridge._core.ipc.body_decoder cimport BatchParts, BodyMemory
from cudf_arrow_bridge._core.libcudf_arrow_bridge cimport ipc_buffer, ipc_node

from cudf_arrow_bridge._core.ipc.body import describe_body

cdef extern from "<rmm/cuda_device.hpp>" namespace "rmm" nogil:
    cdef cppclass cuda_device_id:
        int value() noexcept

    cuda_device_id get_current_cuda_device() except +

#: The bits that store the alignment, and their maximum, for 8 bytes: no value needs more alignment.
cdef int ALIGNMENT_BITS = 2
cdef int64_t MOST_HALVINGS = 3


def bodies_of(ExportedArray array not None, bint is_table, stream) -> list:
    """Return the body of an array, followed by those of its dictionaries, depth first."""
    cdef IpcBody body = describe_body(array, is_table, stream)
    cdef list bodies = [body]
    if not body.body.dictionaries.empty():
        for values in body.dictionaries():
            bodies += bodies_of(values, False, stream)
    return bodies


cdef int64_t alignment_log2(const void* address) noexcept:
    cdef uintptr_t rest = <uintptr_t>address
    cdef int64_t count = 0
    while count < MOST_HALVINGS and rest % 2 == 0:
        rest //= 2
        count += 1
    return count


def numbers_of(bytes head not None, list bodies not None) -> bytes:
    """Return `head` followed by the numbers of bodies."""
    cdef vector[int64_t] numbers
    cdef IpcBody body
    cdef ipc_node node
    cdef ipc_buffer buffer
    for body in bodies:
        numbers.push_back(body.body.length)
        numbers.push_back(body.body.nodes.size())
        numbers.push_back(body.body.buffers.size())
        numbers.push_back(body.body.variadic_counts.size())
        for node in body.body.nodes:
            numbers.push_back(node.length)
            numbers.push_back(node.null_count)
        for buffer in body.body.buffers:
            numbers.push_back((buffer.size << ALIGNMENT_BITS) + alignment_log2(buffer.address))
        for count in body.body.variadic_counts:
            numbers.push_back(count)
    cdef size_t size = numbers.size() * sizeof(int64_t)
    cdef bytes joined = PyBytes_FromStringAndSize(NULL, len(head) + size)
    cdef char* target = PyBytes_AsString(joined)
    memcpy(target, PyBytes_AsString(head), len(head))
    memcpy(target + len(head), numbers.data(), size)
    return joined


def buffers_of(list bodies not None) -> list:
    """List the buffers of bodies that are not empty as `BodyBuffer`."""
    cdef IpcBody body
    cdef ipc_buffer buffer
    return [
        BodyBuffer.of(buffer, body)
        for body in bodies
        for buffer in body.body.buffers
        if buffer.size > 0
    ]


cdef class NumberReader:
    """A reader of numbers and of the buffers that they describe."""

    cdef vector[int64_t] numbers
    cdef size_t position
    cdef BodyMemory memory
    cdef size_t next_buffer
    cdef bint is_packed
    cdef bint is_on_host

    cdef const int64_t* take(self, size_t count) except NULL:
        if count > self.numbers.size() - self.position:
            raise ValueError(
                f"header: expected more than {self.position + count - 1} numbers, got "
                f"{self.numbers.size()}"
            )
        self.position += count
        return self.numbers.data() + (self.position - count)

    cdef size_t count_at(self, const int64_t* number) except? 0:
        """Return a count of numbers. Raise if it exceeds the number of those left."""
        if number[0] < 0 or <size_t>number[0] > self.numbers.size() - self.position:
            raise ValueError(
                f"header: expected 0 to {self.numbers.size() - self.position} numbers, got "
                f"{number[0]}"
            )
        return number[0]

    cdef ipc_buffer take_buffer(self, int64_t size, int64_t alignment) except *:
        cdef ipc_buffer found
        cdef bytes copy
        if self.next_buffer == self.memory.buffers.size():
            raise ValueError(f"expected a buffer of {size:,} bytes, got {self.next_buffer} in all")
        found = self.memory.buffers[self.next_buffer]
        if found.size != size:
            raise ValueError(
                f"buffer {self.next_buffer}: expected {size:,} bytes, got {found.size:,}"
            )
        self.next_buffer += 1
        if self.is_on_host and alignment_log2(found.address) < alignment:
            # The buffer is a part of a larger one, and its values are not aligned.
            copy = PyBytes_FromStringAndSize(<const char*>found.address, size)
            found.address = PyBytes_AsString(copy)
            # All previous buffers were present, so this index is that of the owner to replace.
            self.memory.owners[self.next_buffer - 1] = copy
        return found

    cdef BatchParts read(self):
        cdef BatchParts parts = BatchParts.__new__(BatchParts)
        cdef const int64_t* counts = self.take(4)
        cdef size_t num_nodes = self.count_at(counts + 1)
        cdef size_t num_buffers = self.count_at(counts + 2)
        cdef size_t num_variadic = self.count_at(counts + 3)
        cdef const int64_t* numbers
        cdef ipc_buffer buffer
        cdef size_t i
        parts.length = counts[0]
        if num_nodes:
            parts.nodes.resize(num_nodes)
            memcpy(parts.nodes.data(), self.take(2 * num_nodes), num_nodes * sizeof(ipc_node))
        if num_buffers:
            numbers = self.take(num_buffers)
            for i in range(num_buffers):
                buffer.address = NULL
                buffer.size = numbers[i] >> ALIGNMENT_BITS
                if buffer.size < 0:
                    raise ValueError(f"header: expected a size of at least 0, got {buffer.size}")
                if buffer.size > 0 and not self.is_packed:
                    buffer = self.take_buffer(buffer.size, numbers[i] & MOST_HALVINGS)
                parts.buffers.push_back(buffer)
        if self.is_packed:
            self.place_in_packed(parts)
        if num_variadic:
            numbers = self.take(num_variadic)
            parts.variadic_counts.assign(numbers, numbers + num_variadic)
        parts.memory.location = self.memory.location
        return parts

    cdef int place_in_packed(self, BatchParts parts) except -1:
        """Set the addresses of the buffers of a body within its packed buffer."""
        cdef int64_t end = 0
        cdef int64_t size
        cdef const char* start
        cdef size_t i
        for i in range(parts.buffers.size()):
            size = parts.buffers[i].size
            if size > (<int64_t>1 << 61) - end:
                raise ValueError(f"header: expected a smaller size, got {size:,} bytes")
            end += core.ipc_padded(size)
        if end == 0:
            return 0
        start = <const char*>self.take_buffer(end, MOST_HALVINGS).address
        end = 0
        for i in range(parts.buffers.size()):
            size = parts.buffers[i].size
            if size > 0:
                parts.buffers[i].address = start + end
            end += core.ipc_padded(size)
        return 0


def read_parts(
    bytes header not None,
    size_t position,
    size_t count,
    list buffers not None,
    bint is_packed,
    bint is_on_device,
    adopt_device not None,
) -> list:
    """Read the numbers of bodies.

    Parameters
    ----------
    header
        Bytes that end with the numbers, which are not trusted.
    position
        The position of the first number.
    count
        The number of bodies.
    buffers
        The received buffers, which have the buffer protocol or are supported by `adopt_device`.
    is_packed
        Whether each buffer is a packed body. Empty bodies have no buffer.
    is_on_device
        Whether the buffers are in memory of the current device. Used if there are no buffers.
    adopt_device
        See `BodyMemory`.

    Returns
    -------
    list of BatchParts

    Raises
    ------
    ValueError
        If there are missing or extra numbers or buffers, or a buffer has another size.
    """
    cdef NumberReader reader = NumberReader.__new__(NumberReader)
    cdef size_t size = len(header)
    cdef BatchParts parts
    if position > size or (size - position) % sizeof(int64_t):
        raise ValueError(f"header: expected {position} bytes and 8 for each number, got {size}")
    reader.numbers.resize((size - position) // sizeof(int64_t))
    if size > position:
        memcpy(reader.numbers.data(), PyBytes_AsString(header) + position, size - position)
    reader.memory = BodyMemory(buffers, False, adopt_device)
    reader.is_packed = is_packed
    if is_on_device and not reader.memory.is_located:
        reader.memory.location.device_type = core.ARROW_DEVICE_CUDA
        reader.memory.location.device_id = get_current_cuda_device().value()
    reader.is_on_host = reader.memory.location.device_type == core.ARROW_DEVICE_CPU
    cdef list result = [reader.read() for _ in range(count)]
    if reader.position != reader.numbers.size():
        raise ValueError(
            f"header: expected {reader.position} numbers, got {reader.numbers.size()}"
        )
    if reader.next_buffer != reader.memory.buffers.size():
        raise ValueError(
            f"expected {reader.next_buffer} buffers, got {reader.memory.buffers.size()}"
        )
    for parts in result:
        parts.memory.owner = share_object(reader.memory.owners)
    return result
