# SPDX-License-Identifier: Apache-2.0
"""Arrays as numbers and buffers, which travel apart: no metadata of messages, and no schema.

The numbers are integers of 64 bits. Of each body, its own first and then its dictionaries' depth
first: how many rows, nodes, buffers and variadic counts; length and null count of each node; of
each buffer 4 times its size, and how often its address can be halved, 3 times at most; the variadic
counts.
"""

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uintptr_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.exported_array cimport ExportedArray
from cudf_arrow_bridge._core.interpreter cimport share_object
from cudf_arrow_bridge._core.ipc.body cimport BodyBuffer, IpcBody
from cudf_arrow_bridge._core.ipc.body_decoder cimport BatchParts, BodyMemory
from cudf_arrow_bridge._core.libcudf_arrow_bridge cimport ipc_buffer, ipc_node

from cudf_arrow_bridge._core.ipc.body import describe_body

cdef extern from "<rmm/cuda_device.hpp>" namespace "rmm" nogil:
    cdef cppclass cuda_device_id:
        int value() noexcept

    cuda_device_id get_current_cuda_device() except +

#: The bits for alignment beside a size, and their greatest number: values have 8 bytes, or several.
cdef int ALIGNMENT_BITS = 2
cdef int64_t MOST_HALVINGS = 3


def bodies_of(ExportedArray array not None, bint is_table, stream) -> list:
    """Describe an array as bodies: its own, then those of its dictionaries, depth first."""
    cdef IpcBody body = describe_body(array, is_table, stream)
    cdef list bodies = [body]
    if not body.body.dictionaries.empty():
        for values in body.dictionaries():
            bodies += bodies_of(values, False, stream)
    return bodies


cdef int64_t halvings(const void* address) noexcept:
    cdef uintptr_t rest = <uintptr_t>address
    cdef int64_t count = 0
    while count < MOST_HALVINGS and rest % 2 == 0:
        rest //= 2
        count += 1
    return count


def numbers_of(bytes head not None, list bodies not None) -> bytes:
    """Return `head` and the numbers of bodies."""
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
            numbers.push_back((buffer.size << ALIGNMENT_BITS) + halvings(buffer.address))
        for count in body.body.variadic_counts:
            numbers.push_back(count)
    cdef size_t size = numbers.size() * sizeof(int64_t)
    cdef bytes joined = PyBytes_FromStringAndSize(NULL, len(head) + size)
    cdef char* target = PyBytes_AsString(joined)
    memcpy(target, PyBytes_AsString(head), len(head))
    memcpy(target + len(head), numbers.data(), size)
    return joined


def buffers_of(list bodies not None) -> list:
    """List the buffers of bodies that have any bytes, each a `BodyBuffer`."""
    cdef IpcBody body
    cdef ipc_buffer buffer
    return [
        BodyBuffer.of(buffer, body)
        for body in bodies
        for buffer in body.body.buffers
        if buffer.size > 0
    ]


cdef class NumberReader:
    """Takes numbers, and the buffers that they speak of, one after the other."""

    cdef vector[int64_t] numbers
    cdef size_t position
    cdef BodyMemory memory
    cdef size_t next_buffer
    cdef bint is_packed
    cdef bint is_on_host

    cdef const int64_t* take(self, size_t count) except NULL:
        if count > self.numbers.size() - self.position:
            raise ValueError(
                f"header: {self.numbers.size()} numbers found, more than "
                f"{self.position + count - 1} expected"
            )
        self.position += count
        return self.numbers.data() + (self.position - count)

    cdef size_t count_at(self, const int64_t* number) except? 0:
        """Return a number of numbers, of which there cannot be more than are left."""
        if number[0] < 0 or <size_t>number[0] > self.numbers.size() - self.position:
            raise ValueError(
                f"header: {number[0]} numbers found, 0 to "
                f"{self.numbers.size() - self.position} expected"
            )
        return number[0]

    cdef ipc_buffer take_buffer(self, int64_t size, int64_t num_halvings) except *:
        cdef ipc_buffer found
        cdef bytes copy
        if self.next_buffer == self.memory.buffers.size():
            raise ValueError(f"{self.next_buffer} buffers found, more expected: {size:,} bytes")
        found = self.memory.buffers[self.next_buffer]
        if found.size != size:
            raise ValueError(
                f"buffer {self.next_buffer}: {found.size:,} bytes found, {size:,} expected"
            )
        self.next_buffer += 1
        if self.is_on_host and halvings(found.address) < num_halvings:
            # It comes out of the midst of others, so that numbers begin where they may not.
            copy = PyBytes_FromStringAndSize(<const char*>found.address, size)
            found.address = PyBytes_AsString(copy)
            # Those before it were there, so that each has its owner: this one's is let go.
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
                    raise ValueError(f"header: size {buffer.size} found, 0 or more expected")
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
        """Find the buffers of a body in the one buffer that has all of it."""
        cdef int64_t end = 0
        cdef int64_t size
        cdef const char* start
        cdef size_t i
        for i in range(parts.buffers.size()):
            size = parts.buffers[i].size
            if size > (<int64_t>1 << 61) - end:
                raise ValueError(f"header: a size of {size:,} bytes found, fewer expected")
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
        Bytes that end with the numbers. Nothing in it is believed.
    position
        Where they begin.
    count
        Of how many bodies they are.
    buffers
        The buffers that came, which have the buffer protocol, or `adopt_device` takes them.
    is_packed
        Whether each is the packed body, of those that have any bytes.
    is_on_device
        Whether the buffers are memory of the current device, which none at all cannot tell.
    adopt_device
        As for `BodyMemory`.

    Returns
    -------
    list of BatchParts

    Raises
    ------
    ValueError
        If numbers or buffers are missing, too many, or of other sizes.
    """
    cdef NumberReader reader = NumberReader.__new__(NumberReader)
    cdef size_t size = len(header)
    cdef BatchParts parts
    if position > size or (size - position) % sizeof(int64_t):
        raise ValueError(f"header: {size} bytes found, {position} and numbers of 8 expected")
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
            f"header: {reader.numbers.size()} numbers found, {reader.position} expected"
        )
    if reader.next_buffer != reader.memory.buffers.size():
        raise ValueError(
            f"{reader.memory.buffers.size()} buffers found, {reader.next_buffer} expected"
        )
    for parts in result:
        parts.memory.owner = share_object(reader.memory.owners)
    return result
